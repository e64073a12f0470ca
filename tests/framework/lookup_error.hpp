// How a lookup ended.
#pragma once

#include <exception>

#include <weft/framework/resolver.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/future.hpp>

namespace weft::test {

// Waits for the lookup; no error: it has found addresses.
inline ErrorCode errorOf(const Future<Resolver::Addresses>& lookup) {
    lookup.await();
    try {
        if (lookup.error()) std::rethrow_exception(lookup.error());
    } catch (const SystemError& error) {
        return error.code();
    }
    return {};
}

}  // namespace weft::test
