#include "context_lookup.hpp"

#include <cerrno>
#include <exception>
#include <utility>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/deadline_scope.hpp>

namespace weft::detail {

std::shared_ptr<ContextLookup> ContextLookup::begin(Carrier& carrier, Call call, Deadline end) {
    const auto lookup = std::make_shared<ContextLookup>();
    lookup->fiber_ =
        carrier.spawn([lookup, call = std::move(call), end] { lookup->run(call, end); }, {.name = "tls-context"});
    return lookup;
}

void ContextLookup::run(const Call& call, Deadline end) noexcept {
    try {
        found_ = timeout(end, call);
    } catch (...) {
        error_ = errorCodeOf(std::current_exception());
        if (!error_) error_ = fromErrno(EIO);
        try {
            text_ = describe(std::current_exception());
        } catch (const std::exception&) {  // the code must do
        }
    }
    done_ = true;
    waiters_.wakeAll();
}

}  // namespace weft::detail
