// Does a zero-copy send pay off? One thread sends messages of one size over a loopback TCP connection, one after the
// other, with io_uring: IORING_OP_SEND, IORING_OP_SEND_ZC, and IORING_OP_SEND_ZC from a registered (pinned) buffer.
// Another thread discards them without copying (MSG_TRUNC). Loopback copies zero-copy data on delivery, so this
// measures the overhead, and not the copy that a network card would save. Read the CPU column, which is the CPU time of
// the whole process, since the kernel may do the work of a send in the receiver's calls; bytes per second are per
// elapsed time.
#include <benchmark/benchmark.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <liburing.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

void check(bool holds, const char* what) {
    if (holds) return;
    std::perror(what);
    std::exit(1);
}

// Both ends of a connection.
class Connection {
  public:
    Connection() {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        check(::bind(listener, general, length) == 0 && ::listen(listener, 1) == 0, "listen");
        check(::getsockname(listener, general, &length) == 0, "getsockname");
        near_ = ::socket(AF_INET, SOCK_STREAM, 0);
        check(::connect(near_, general, length) == 0, "connect");
        far_ = ::accept(listener, nullptr, nullptr);
        check(far_ >= 0, "accept");
        ::close(listener);
        drain_ = std::thread([this] {
            while (::recv(far_, nullptr, 1 << 20, MSG_TRUNC) > 0) {
            }
        });
    }
    ~Connection() {
        ::shutdown(near_, SHUT_WR);
        drain_.join();
        ::close(near_);
        ::close(far_);
    }
    int fd() const { return near_; }

  private:
    int near_ = -1, far_ = -1;
    std::thread drain_;
};

class Ring {
  public:
    Ring() {
        const int result = io_uring_queue_init(8, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
        errno = -result;
        check(result == 0, "io_uring_queue_init");
    }
    ~Ring() { io_uring_queue_exit(&ring_); }
    io_uring& native() { return ring_; }

    // Returns once the operation is done and the kernel has released its memory.
    int run(io_uring_sqe* entry) {
        entry->user_data = 1;
        int result = 0;
        for (unsigned left = 1; left > 0;) {
            io_uring_submit_and_wait(&ring_, 1);
            io_uring_cqe* done = nullptr;
            while (io_uring_peek_cqe(&ring_, &done) == 0) {
                if (!(done->flags & IORING_CQE_F_NOTIF)) result = done->res;
                left += (done->flags & IORING_CQE_F_MORE) ? 1 : 0;
                --left;
                io_uring_cqe_seen(&ring_, done);
            }
        }
        return result;
    }

  private:
    io_uring ring_{};
};

template <class Prepare>
void send(benchmark::State& state, Prepare prepare, bool registered) {
    Connection connection;
    Ring ring;
    const auto size = static_cast<std::size_t>(state.range(0));
    std::vector<char> bytes(size, 'x');
    if (registered) {
        const iovec memory{bytes.data(), size};
        const int result = io_uring_register_buffers(&ring.native(), &memory, 1);
        errno = -result;
        check(result == 0, "io_uring_register_buffers");
    }
    for (auto _ : state) {
        for (std::size_t sent = 0; sent < size;) {
            io_uring_sqe* const entry = io_uring_get_sqe(&ring.native());
            prepare(entry, connection.fd(), bytes.data() + sent, size - sent);
            const int result = ring.run(entry);
            if (result <= 0) return state.SkipWithError("a send failed");
            sent += static_cast<std::size_t>(result);
        }
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(size) * state.iterations());
}

void copied(benchmark::State& state) {
    send(
        state,
        [](io_uring_sqe* entry, int fd, const char* from, std::size_t size) {
            io_uring_prep_send(entry, fd, from, size, 0);
        },
        false);
}

void zeroCopy(benchmark::State& state) {
    send(
        state,
        [](io_uring_sqe* entry, int fd, const char* from, std::size_t size) {
            io_uring_prep_send_zc(entry, fd, from, size, 0, 0);
        },
        false);
}

void zeroCopyOfPinnedMemory(benchmark::State& state) {
    send(
        state,
        [](io_uring_sqe* entry, int fd, const char* from, std::size_t size) {
            io_uring_prep_send_zc(entry, fd, from, size, 0, IORING_RECVSEND_FIXED_BUF);
            entry->buf_index = 0;
        },
        true);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20)->MeasureProcessCPUTime()->UseRealTime();
}

BENCHMARK(copied)->Apply(sizes);
BENCHMARK(zeroCopy)->Apply(sizes);
BENCHMARK(zeroCopyOfPinnedMemory)->Apply(sizes);

}  // namespace
