// Question: what does the kernel alone charge for a request and its answer over io_uring on one thread?
// The floor_epoll of io_uring: one multishot accept, a multishot receive for each connection into one ring of buffers,
// one send at a time for each, and one system call in each turn of the loop.

#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>

#include <memory>
#include <unordered_map>

#include "../../support/canned_response.hpp"
#include "../../support/endpoint.hpp"
#include "../../support/quit_signals.hpp"
#include "../../support/request_counter.hpp"

namespace weft::perf {
namespace {

constexpr unsigned entries = 1024;
constexpr unsigned bufferCount = 1024;
constexpr unsigned bufferSize = 4096;
constexpr unsigned short bufferGroup = 0;

struct Connection {
    int fd;
    RequestCounter requests;
    std::size_t owed = 0;  // response bytes that the kernel has not accepted
    bool sending = false;
    bool receiving = true;
};

// Stored in the low bits of an entry's user data; the rest is the address of the connection.
enum Operation : std::uintptr_t { onQuit, onAccept, onReceive, onSend, operationMask = 3 };

class Server {
  public:
    explicit Server(const sockaddr_in& address) {
        const int quitFd = quitSignals();
        io_uring_params parameters{};
        parameters.flags =
            IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
        parameters.cq_entries = 16 * entries;
        if (const int error = io_uring_queue_init_params(entries, &ring_, &parameters)) die("io_uring_setup", -error);
        io_uring_register_ring_fd(&ring_);
        registerBuffers();
        listenFd_ = listenAndAnnounce(address);
        start(nullptr, onQuit, [quitFd](io_uring_sqe* next) { io_uring_prep_poll_add(next, quitFd, POLLIN); });
        accept();
    }

    void run() {
        for (;;) {
            const int error = io_uring_submit_and_wait(&ring_, 1);
            if (error < 0 && error != -EINTR) die("io_uring_enter", -error);
            io_uring_cqe* completion = nullptr;
            unsigned head = 0, count = 0;
            io_uring_for_each_cqe(&ring_, head, completion) {
                ++count;
                if (!handle(*completion)) return;
            }
            io_uring_cq_advance(&ring_, count);
        }
    }

  private:
    void registerBuffers() {
        const std::size_t size = bufferCount * sizeof(io_uring_buf);
        void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uint64_t>(memory);
        registration.ring_entries = bufferCount;
        registration.bgid = bufferGroup;
        if (const int error = io_uring_register_buf_ring(&ring_, &registration, 0)) die("io_uring_register", -error);
        shared_ = static_cast<io_uring_buf_ring*>(memory);
        io_uring_buf_ring_init(shared_);
        for (unsigned id = 0; id < bufferCount; ++id) provide(id);
    }
    void provide(unsigned id) {
        io_uring_buf_ring_add(shared_, &buffers_[id * bufferSize], bufferSize, static_cast<unsigned short>(id),
                              io_uring_buf_ring_mask(bufferCount), 0);
        io_uring_buf_ring_advance(shared_, 1);
    }

    io_uring_sqe* entry() {
        io_uring_sqe* next = io_uring_get_sqe(&ring_);
        if (next == nullptr) {
            io_uring_submit(&ring_);
            next = io_uring_get_sqe(&ring_);
        }
        if (next == nullptr) die("io_uring: no entry");
        return next;
    }
    template <class Prepare>
    void start(Connection* connection, Operation operation, Prepare prepare) {
        io_uring_sqe* const next = entry();
        prepare(next);
        io_uring_sqe_set_data64(next, reinterpret_cast<std::uintptr_t>(connection) | operation);
    }
    void accept() {
        start(nullptr, onAccept, [this](io_uring_sqe* next) {
            io_uring_prep_multishot_accept(next, listenFd_, nullptr, nullptr, SOCK_CLOEXEC);
        });
    }
    void receive(Connection& connection) {
        start(&connection, onReceive, [&](io_uring_sqe* next) {
            io_uring_prep_recv_multishot(next, connection.fd, nullptr, 0, 0);
            next->flags |= IOSQE_BUFFER_SELECT;
            next->buf_group = bufferGroup;
        });
    }
    void send(Connection& connection) {
        connection.sending = true;
        const std::string_view next = block_.owed(connection.owed);
        start(&connection, onSend, [&](io_uring_sqe* into) {
            io_uring_prep_send(into, connection.fd, next.data(), next.size(), MSG_NOSIGNAL);
        });
    }

    // Returns false when the program has to end.
    bool handle(const io_uring_cqe& completion) {
        auto& connection = *reinterpret_cast<Connection*>(completion.user_data & ~std::uintptr_t{operationMask});
        switch (completion.user_data & operationMask) {
            case onAccept: accepted(completion); break;
            case onReceive: received(connection, completion); break;
            case onSend: sent(connection, completion); break;
            default: return false;
        }
        return true;
    }
    void accepted(const io_uring_cqe& completion) {
        if (!(completion.flags & IORING_CQE_F_MORE)) accept();
        if (completion.res < 0) return;
        setNoDelay(completion.res);
        auto connection = std::make_unique<Connection>();
        connection->fd = completion.res;
        receive(*connection);
        connections_[completion.res] = std::move(connection);
    }
    void received(Connection& connection, const io_uring_cqe& completion) {
        if (completion.res > 0) {
            const unsigned id = completion.flags >> IORING_CQE_BUFFER_SHIFT;
            connection.owed +=
                cannedResponse.size() *
                connection.requests.count(&buffers_[id * bufferSize], static_cast<std::size_t>(completion.res));
            provide(id);
            if (connection.owed > 0 && !connection.sending) send(connection);
        }
        if (completion.flags & IORING_CQE_F_MORE) return;
        if (completion.res > 0 || completion.res == -ENOBUFS) return receive(connection);
        connection.receiving = false;
        if (!connection.sending) close(connection);
    }
    void sent(Connection& connection, const io_uring_cqe& completion) {
        connection.sending = false;
        if (completion.res > 0) connection.owed -= static_cast<std::size_t>(completion.res);
        if (completion.res > 0 && connection.owed > 0) return send(connection);
        if (completion.res < 0) connection.owed = 0;
        if (!connection.receiving) close(connection);
    }
    void close(Connection& connection) {
        const int fd = connection.fd;
        ::close(fd);
        connections_.erase(fd);
    }

    io_uring ring_{};
    io_uring_buf_ring* shared_ = nullptr;
    int listenFd_ = -1;
    CannedBlock<> block_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    std::unique_ptr<char[]> buffers_ = std::make_unique<char[]>(bufferCount * bufferSize);
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    weft::perf::Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = weft::perf::endpointFlag(flags, "--listen");
    flags.finish();
    weft::perf::Server(address).run();
    return 0;
}
