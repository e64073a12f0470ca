#include <weft/transports/uring/uring_support.hpp>

#include <exception>
#include <system_error>
#include <thread>

#include <weft/transports/uring/uring_calls.hpp>

#include "uring/uring_probe.hpp"

namespace weft {

UringSupport UringSupport::probe(UringCalls& calls, const UringSurroundings& surroundings) {
    UringSupport support;
    std::exception_ptr failure;
    const auto runTrial = [&] {
        try {
            UringProbe(calls, surroundings, support.findings_).run();
        } catch (const UringProbe::Missing& missing) {
            support.error_ = fromErrno(missing.error);
            support.reason_ = missing.reason;
        } catch (...) {
            failure = std::current_exception();
        }
    };
    try {
        std::thread(runTrial).join();
    } catch (const std::system_error& refused) {
        support.error_ = fromErrno(refused.code().value());
        support.reason_ = std::string("cannot start a thread for a trial: ") + refused.what();
    }
    if (failure) std::rethrow_exception(failure);
    return support;
}

const UringSupport& UringSupport::ofThisProcess() {
    static const UringSupport support = probe(UringCalls::kernel());
    return support;
}

std::string UringSupport::report() const {
    std::string text = available() ? "io_uring: available" : "io_uring: not available: " + reason_;
    for (const auto& [what, how] : findings_) text.append("\n  ").append(what).append(": ").append(how);
    return text;
}

}  // namespace weft
