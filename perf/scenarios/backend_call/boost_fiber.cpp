// Question: what does a request cost whose fiber of Boost.Fiber waits for a backend, with Asio as the poller?
// One thread, and a fiber for each connection; HTTP by hand on both sides, as in asio.cpp. Connections to the backend
// are kept and reused last in, first out. Boost.Fiber brings no poller, so its scheduling algorithm is here: round
// robin, with a poll of the io_context after each round.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/context.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/scheduler.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../../support/asio_server.hpp"
#include "../../support/backend_call.hpp"

namespace weft::perf {
namespace {

namespace fibers = boost::fibers;

constexpr std::size_t maxRequest = 16 * 1024;  // bytes of a head

// Runs the fibers that were ready at the last poll, then the dispatcher of Boost.Fiber, which polls again. So all
// handlers of the io_context run in the dispatcher, which must not wait for a fiber. Shares ownership of the
// io_context, because the thread's scheduler outlives main().
class PollingRounds : public fibers::algo::algorithm {
  public:
    explicit PollingRounds(std::shared_ptr<asio::io_context> context)
        : context_(std::move(context)), work_(context_->get_executor()) {}

    void awakened(fibers::context* fiber) noexcept override {
        if (fiber->is_context(fibers::type::dispatcher_context)) dispatcher_ = fiber;
        else fiber->ready_link(ready_);
    }

    // Called by a fiber that waits, and by the dispatcher, which alone may receive nullptr.
    fibers::context* pick_next() noexcept override {
        const bool inDispatcher = dispatcher_ == nullptr;
        if (inDispatcher) beginRound();
        if (round_.empty()) return inDispatcher ? nullptr : std::exchange(dispatcher_, nullptr);
        fibers::context* const next = &round_.front();
        round_.pop_front();
        return next;
    }

    bool has_ready_fibers() const noexcept override { return !round_.empty() || !ready_.empty(); }

    void suspend_until(const std::chrono::steady_clock::time_point& deadline) noexcept override {
        if (deadline == std::chrono::steady_clock::time_point::max()) context_->run_one();
        else context_->run_one_until(deadline);
    }

    void notify() noexcept override {
        asio::post(*context_, [] {});
    }

  private:
    void beginRound() noexcept {
        if (!ready_.empty()) context_->poll();  // otherwise suspend_until() follows
        round_.swap(ready_);
    }

    std::shared_ptr<asio::io_context> context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    fibers::scheduler::ready_queue_type round_;  // fibers of this round that have not run yet
    fibers::scheduler::ready_queue_type ready_;  // those of the next round
    fibers::context* dispatcher_ = nullptr;      // while it is ready; nullptr while it runs
};

struct Outcome {
    error_code error;
    std::size_t bytes;
};

// Starts an operation of Asio, and parks the calling fiber until the operation has completed. Its handler runs in the
// dispatcher, thus not before the fiber is parked.
template <class Operation>
Outcome await(Operation start) {
    Outcome outcome{};
    fibers::context* const self = fibers::context::active();
    start([&outcome, self](error_code error, std::size_t bytes = 0) {
        outcome = {error, bytes};
        fibers::context::active()->schedule(self);
    });
    self->suspend();
    return outcome;
}

class Backend {
  public:
    Backend(asio::io_context& context, const sockaddr_in& address)
        : context_(context), endpoint_(asio::ip::address_v4(ntohl(address.sin_addr.s_addr)), ntohs(address.sin_port)) {}

    const tcp::endpoint& endpoint() const { return endpoint_; }

    // The connection used last, or a closed socket.
    tcp::socket take() {
        if (idle_.empty()) return tcp::socket(context_);
        tcp::socket socket = std::move(idle_.back());
        idle_.pop_back();
        return socket;
    }
    void keep(tcp::socket socket) { idle_.push_back(std::move(socket)); }

  private:
    asio::io_context& context_;
    tcp::endpoint endpoint_;
    std::vector<tcp::socket> idle_;
};

class Connection {
  public:
    Connection(tcp::socket socket, Backend& backend)
        : socket_(std::move(socket)), backend_(backend), toBackend_(socket_.get_executor()) {}

    // Until the client or close() has closed.
    void serve() {
        char input[maxRequest];
        for (std::size_t filled = 0; filled < sizeof input;) {
            const Outcome read = await([&](auto done) {
                socket_.async_read_some(asio::buffer(input + filled, sizeof input - filled), std::move(done));
            });
            if (read.error) return;
            const std::optional<std::string_view> rest = answerAll({input, filled + read.bytes});
            if (!rest) return;
            memmove(input, rest->data(), rest->size());
            filled = rest->size();
        }
    }

    // Ends whatever its fiber waits for.
    void close() {
        error_code ignored;
        socket_.close(ignored);
        toBackend_.close(ignored);
    }

  private:
    // Answers the complete requests and returns the rest; nullopt if the client has gone.
    std::optional<std::string_view> answerAll(std::string_view input) {
        for (std::size_t end; (end = input.find("\r\n\r\n")) != std::string_view::npos; input.remove_prefix(end + 4)) {
            if (!socket_.is_open()) return std::nullopt;
            const std::string text = isBackendPath(input) ? callBackend() : std::string(notFoundResponse);
            if (!write(socket_, text)) return std::nullopt;
        }
        return input;
    }

    std::string callBackend() {
        toBackend_ = backend_.take();
        if (const auto body = (toBackend_.is_open() || connect()) ? exchange() : std::nullopt) {
            backend_.keep(std::move(toBackend_));
            return answerWithBody(*body);
        }
        error_code ignored;
        toBackend_.close(ignored);
        return std::string(badGatewayResponse);
    }

    bool connect() {
        const Outcome outcome =
            await([&](auto done) { toBackend_.async_connect(backend_.endpoint(), std::move(done)); });
        error_code failed = outcome.error;
        if (!failed) toBackend_.set_option(tcp::no_delay(true), failed);
        return !failed;
    }

    // The body of the backend's answer, nullopt after an error.
    std::optional<std::string> exchange() {
        if (!write(toBackend_, backendRequest)) return std::nullopt;
        char received[4096];
        for (std::size_t filled = 0; filled < sizeof received;) {
            const Outcome read = await([&](auto done) {
                toBackend_.async_read_some(asio::buffer(received + filled, sizeof received - filled), std::move(done));
            });
            if (read.error) return std::nullopt;
            filled += read.bytes;
            if (const auto body = backendBody({received, filled})) return std::string(*body);
        }
        return std::nullopt;
    }

    static bool write(tcp::socket& socket, std::string_view text) {
        return !await([&](auto done) { asio::async_write(socket, asio::buffer(text), std::move(done)); }).error;
    }

    tcp::socket socket_;
    Backend& backend_;
    tcp::socket toBackend_;
};

// The open connections, each of which a fiber of its own serves.
class Connections {
  public:
    explicit Connections(Backend& backend) : backend_(backend) {}

    void start(tcp::socket socket) {
        open_.emplace_front(std::move(socket), backend_);
        fibers::fiber([this, connection = open_.begin()] {
            connection->serve();
            open_.erase(connection);
            if (open_.empty()) noneOpen_.notify_all();
        }).detach();
    }

    // Returns once no fiber uses a connection.
    void closeAll() {
        for (Connection& connection : open_) connection.close();
        std::unique_lock lock(mutex_);
        noneOpen_.wait(lock, [this] { return open_.empty(); });
    }

  private:
    Backend& backend_;
    std::list<Connection> open_;
    fibers::mutex mutex_;
    fibers::condition_variable noneOpen_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT --backend ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const sockaddr_in backendAddress = endpointFlag(flags, "--backend");
    flags.finish();

    const auto context = std::make_shared<asio::io_context>(1);
    fibers::use_scheduling_algorithm<PollingRounds>(context);
    Backend backend(*context, backendAddress);
    Connections connections(backend);
    asio::signal_set quit(*context, SIGTERM, SIGINT);
    tcp::acceptor acceptor(*context, tcp::v4(), listenAndAnnounce(address));
    auto start = [&connections](tcp::socket socket) { connections.start(std::move(socket)); };
    acceptNext(acceptor, start);
    await([&quit](auto done) { quit.async_wait(std::move(done)); });
    acceptor.close();
    connections.closeAll();
    return 0;
}
