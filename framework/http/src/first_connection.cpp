#include "first_connection.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include <weft/scheduler/detail/cancellation_due.hpp>
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/task_scope.hpp>

#include <weft/framework/detail/address_order.hpp>

namespace weft::http {

namespace {

struct Attempt {
    SocketAddress remote;
    TcpStream stream;
    ErrorCode error;
    std::exception_ptr thrown;
};

Attempt attempt(const SocketAddress& remote, Duration time, Deadline deadline) {
    Attempt made{remote, {}, {}, {}};
    try {
        made.stream = TcpStream::connect(remote, std::min(deadline, deadlineAfter(time)), made.error);
    } catch (...) {
        made.thrown = std::current_exception();
    }
    return made;
}

// True if no further attempt is to be made: this one has connected, or everything ends.
bool noteAttempt(FirstConnection& result, Attempt ended) {
    if (ended.thrown) std::rethrow_exception(std::move(ended.thrown));
    result.error = ended.error;
    result.stream = std::move(ended.stream);
    if (!result.error || result.error == operationAborted()) return true;
    if (!result.refusals.empty()) result.refusals += ", ";
    result.refusals += ended.remote.toString() + " (" + result.error.message() + ")";
    return false;
}

FirstConnection connectInTurn(const Resolver::Addresses& addresses, Duration time, Deadline deadline) {
    FirstConnection result;
    sync::BoundedQueue<Attempt> ended(addresses.size());  // has room for all: each attempt can report its end
    TaskScope attempts;                                   // its end cancels those that still run, and waits for them
    std::size_t begun = 0;
    for (std::size_t over = 0; over < addresses.size();) {
        result.error = weft::detail::cancellationDue() ? operationAborted() : ErrorCode();
        if (result.error) break;
        if (begun < addresses.size()) {
            const auto connect = [&ended, remote = addresses[begun], time, deadline] {
                static_cast<void>(ended.trySend(attempt(remote, time, deadline)));
            };
            attempts.spawn(connect, {.name = "http-client-connect"});
            ++begun;
        }
        const bool isLast = begun == addresses.size();
        std::optional<Attempt> one =
            ended.receiveUntil(isLast ? never : deadlineAfter(weft::detail::attemptDelay), result.error);
        if (result.error == timedOut()) continue;
        if (result.error || noteAttempt(result, std::move(*one))) break;
        ++over;
    }
    return result;
}

}  // namespace

FirstConnection connectToFirst(const Resolver::Addresses& addresses, Duration time, Deadline deadline) {
    FirstConnection result;
    try {
        if (addresses.size() > 1) return connectInTurn(addresses, time, deadline);
        noteAttempt(result, attempt(addresses.front(), time, deadline));
    } catch (const SystemError& refused) {  // by a carrier that shuts down
        result.error = refused.code();
    }
    return result;
}

}  // namespace weft::http
