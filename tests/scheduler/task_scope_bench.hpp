// Shared by the tests of TaskScope: options of two carriers, and the error of a call as text.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include <weft/scheduler/carrier_options.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::test {

inline CarrierOptions twoCarriers() {
    CarrierOptions options;
    options.carriers = 2;
    return options;
}

inline std::string errorOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const SystemError& error) {
        return error.code() == operationAborted() ? "aborted" : error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

}  // namespace weft::test
