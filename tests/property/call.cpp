#include "property/call.hpp"

#include <array>
#include <cstddef>

namespace weft::property {

const char* nameOf(Verb verb) noexcept {
    static constexpr std::array names{"lock",      "tryLock", "unlock",     "wait",      "tryWait",     "notifyOne",
                                      "notifyAll", "acquire", "tryAcquire", "release",   "forget",      "send",
                                      "trySend",   "receive", "tryReceive", "close",     "initialize",  "obtain",
                                      "emplace",   "read",    "next",       "subscribe", "unsubscribe", "finish",
                                      "find",      "count"};
    static_assert(names.size() == static_cast<std::size_t>(Verb::count) + 1);
    return names[static_cast<std::size_t>(verb)];
}

const char* nameOf(Outcome outcome) noexcept {
    static constexpr std::array names{"has not returned", "done",      "refused", "closed",
                                      "failed",           "timed out", "aborted"};
    static_assert(names.size() == static_cast<std::size_t>(Outcome::aborted) + 1);
    return names[static_cast<std::size_t>(outcome)];
}

std::string describe(const Call& call) {
    std::string text = "[" + std::to_string(call.begun) + ", " + std::to_string(call.ended) + "] actor " +
                       std::to_string(call.actor) + ": " + nameOf(call.verb) + "(" + std::to_string(call.argument) +
                       ") " + nameOf(call.outcome);
    if (call.outcome == Outcome::done) text += call.value == nothing ? ", no value" : ", " + std::to_string(call.value);
    if (call.missed != 0) text += ", missed " + std::to_string(call.missed);
    if (call.gaveUp()) text += ", interrupted from " + std::to_string(call.interrupted);
    return text;
}

}  // namespace weft::property
