#include "uring/uring_connector.hpp"

#include <liburing.h>

namespace weft {

const UringOperation::Kind UringConnector::Connect::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        UringConnector& self = static_cast<Connect&>(operation).connector;
        io_uring_prep_connect(&entry, self.fd(), self.remote().data(), self.remote().size());
    },
    [](UringOperation& operation, int result, unsigned) {
        static_cast<Connect&>(operation).connector.completed(result);
    }};

void UringConnector::completed(int result) {
    if (leaving() || !inProgress()) return operationEnded();  // closed, so the promise has failed; or leaving
    ended(fromErrno(result < 0 ? -result : 0));
}

void UringConnector::cancelAll() noexcept {
    cancel(connect_);
    UringStream::cancelAll();
}

}  // namespace weft
