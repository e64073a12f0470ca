#include "uring/uring_fiber_listener.hpp"

#include <liburing.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "socket_errors.hpp"

namespace weft {

class UringFiberListener::Accept final : public Call {
  public:
    explicit Accept(UringFiberListener& listener) noexcept : Call(kind, listener) {}

  private:
    static const Kind kind;
};

const UringOperation::Kind UringFiberListener::Accept::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const Accept& self = static_cast<Accept&>(operation);
        io_uring_prep_accept(&entry, self.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    },
    [](UringOperation& operation, int result, unsigned) { complete(operation, result); }};

// A connection wakes one waiting call. If that call is cancelled at the same moment, the connection stays in the
// backlog and wakes no other call, so a call that ends without a connection checks the backlog.
Fd UringFiberListener::accept(Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();  // a flood of connections must not starve established ones
    ssize_t result = 0;
    do {
        Accept call(*this);
        result = transfer([this] { return acceptNow(); }, call, "TcpListener::accept", deadline);
        if (endedTheWait(result) && isOpen()) {
            const int waiting = acceptNow();
            if (waiting >= 0) result = waiting;
        }
    } while (result < 0 && detail::connectionWasLost(static_cast<int>(-result)));
    error = result < 0 ? errorOf(result) : ErrorCode();
    return result < 0 ? Fd() : Fd(static_cast<int>(result), calls());
}

}  // namespace weft
