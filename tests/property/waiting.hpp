// How things call the two forms of a wait: the one that throws and the one with an error code.
#pragma once

#include <weft/scheduler/errors.hpp>

#include "property/actor.hpp"

namespace weft::property {

// Both forms may throw SystemError; the first one usually puts it into its argument.
template <class Plain, class Throwing>
ErrorCode waitFor(const Operation& operation, Plain plain, Throwing throwing) {
    if (operation.throws) return Actor::errorOf(throwing);
    ErrorCode error;
    const ErrorCode thrown = Actor::errorOf([&] { plain(error); });
    return thrown ? thrown : error;
}

// For calls that return false at their deadline.
inline void throwUnless(bool ended) {
    if (!ended) throw SystemError(timedOut(), "property");
}

}  // namespace weft::property
