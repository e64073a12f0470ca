// Question: what does a request cost that blocks a worker thread while a backend thinks?
// Asio's io_context on one thread reads and writes; a thread_pool of --workers threads calls the backend, each over a
// blocking keep-alive socket of its own, and posts the answer back. At most as many calls are in progress as there are
// workers.

#include "../../support/asio_ordered.hpp"
#include "../../support/backend_call.hpp"

namespace weft::perf {
namespace {

// The calling worker's connection to the backend.
class BackendSocket {
  public:
    explicit BackendSocket(const sockaddr_in& address) : fd_(connectBlocking(address)) {}
    BackendSocket(const BackendSocket&) = delete;
    ~BackendSocket() { ::close(fd_); }

    // Returns the complete answer, or an incomplete one when the backend has closed.
    std::string_view call() {
        received_.clear();
        if (::send(fd_, backendRequest.data(), backendRequest.size(), MSG_NOSIGNAL) < 0) return {};
        char buffer[4096];
        while (!backendBody(received_)) {
            const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return {};
            received_.append(buffer, static_cast<std::size_t>(count));
        }
        return received_;
    }

  private:
    int fd_;
    std::string received_;
};

struct Handler {
    sockaddr_in backend;

    bool knows(std::string_view head) const { return isBackendPath(head); }

    std::string handle(bool known) const {
        if (!known) return std::string(notFoundResponse);
        thread_local BackendSocket socket(backend);
        const auto body = backendBody(socket.call());
        return body ? answerWithBody(*body) : std::string(badGatewayResponse);
    }
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT --backend ADDR:PORT [--workers N=1]");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const sockaddr_in backend = endpointFlag(flags, "--backend");
    const auto workers = static_cast<std::size_t>(flags.number("--workers", 1, 1, 64));
    flags.finish();

    asio::io_context context(1);
    WorkerPool<Handler> pool(workers, Handler{backend});
    serveOrdered(context, address, pool);
    return 0;
}
