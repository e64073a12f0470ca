// Question: what does it cost to run each request's handler on a worker pool, the usual way to allow blocking calls,
// compared with a fiber on the loop's own thread?
// Asio's io_context on one thread reads and writes; each request posts an empty blocking-style task to a thread_pool
// of --workers threads, which posts the answer back to the connection's executor. Answers keep the order of requests,
// and answers that are ready together leave in one write, so the rival loses nothing but the hand-off itself.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <memory>

#include "../../support/canned_response.hpp"
#include "../../support/endpoint.hpp"

namespace weft::perf {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxRequest = 16 * 1024;
constexpr std::size_t kMaxInFlight = 4096;    // unanswered requests of a connection before it stops reading

/// The work of a request on a worker thread. Empty, and opaque to the compiler: the scenario prices the way there.
[[gnu::noinline]] std::string_view handle(bool known) {
    asm volatile("" ::: "memory");
    return known ? kCannedResponse : kNotFoundResponse;
}

bool isKnown(std::string_view request) {
    return request.starts_with("GET /fiber ") || request.starts_with("GET /plaintext ");
}

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(tcp::socket socket, asio::thread_pool& pool) : socket_(std::move(socket)), pool_(pool) {}

    void read() {
        reading_ = true;
        socket_.async_read_some(asio::buffer(input_ + filled_, sizeof input_ - filled_),
                                [self = shared_from_this()](error_code error, std::size_t count) {
                                    self->reading_ = false;
                                    if (error) return self->close();
                                    self->filled_ += count;
                                    self->takeRequests();
                                    self->readMore();
                                });
    }

  private:
    void takeRequests() {
        std::string_view rest(input_, filled_);
        for (std::size_t end; (end = rest.find("\r\n\r\n")) != std::string_view::npos; rest.remove_prefix(end + 4))
            submit(isKnown(rest.substr(0, end)));
        memmove(input_, rest.data(), rest.size());
        filled_ = rest.size();
        if (filled_ == sizeof input_) close();    // a head larger than the buffer
    }

    void submit(bool known) {
        const std::size_t ticket = firstTicket_ + answers_.size();
        answers_.emplace_back();
        asio::post(pool_, [self = shared_from_this(), ticket, known]() mutable {
            const std::string_view answer = handle(known);
            const auto executor = self->socket_.get_executor();
            asio::post(executor, [self = std::move(self), ticket, answer] { self->answer(ticket, answer); });
        });
    }

    void answer(std::size_t ticket, std::string_view text) {
        answers_[ticket - firstTicket_] = text;
        while (!answers_.empty() && !answers_.front().empty()) {
            output_.append(answers_.front());
            answers_.pop_front();
            ++firstTicket_;
        }
        if (output_.empty() || writing_ || flushPosted_) return;
        if (answers_.empty()) return write();
        flushPosted_ = true;    // others are on their way: let those already queued join this write
        asio::post(socket_.get_executor(), [self = shared_from_this()] {
            self->flushPosted_ = false;
            if (!self->writing_ && !self->output_.empty()) self->write();
        });
    }

    void write() {
        writing_ = true;
        inWrite_.swap(output_);
        asio::async_write(socket_, asio::buffer(inWrite_), [self = shared_from_this()](error_code error, std::size_t) {
            self->writing_ = false;
            self->inWrite_.clear();
            if (error) return self->close();
            if (!self->output_.empty()) self->write();
            self->readMore();
        });
    }

    void readMore() {
        if (!reading_ && socket_.is_open() && answers_.size() < kMaxInFlight) read();
    }

    void close() {
        error_code ignored;
        socket_.close(ignored);
    }

    tcp::socket socket_;
    asio::thread_pool& pool_;
    char input_[kMaxRequest];
    std::size_t filled_ = 0;
    std::deque<std::string_view> answers_;    // in request order; empty until its worker has answered
    std::size_t firstTicket_ = 0;             // the ticket of answers_.front()
    std::string output_;                      // answered, not yet handed to the kernel
    std::string inWrite_;
    bool reading_ = false;
    bool writing_ = false;
    bool flushPosted_ = false;
};

void acceptNext(tcp::acceptor& acceptor, asio::thread_pool& pool) {
    acceptor.async_accept([&acceptor, &pool](error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            std::make_shared<Connection>(std::move(socket), pool)->read();
        }
        acceptNext(acceptor, pool);
    });
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT [--workers N=1]");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const auto workers = static_cast<std::size_t>(flags.number("--workers", 1, 1, 64));
    flags.finish();

    asio::io_context context(1);
    asio::thread_pool pool(workers);
    asio::signal_set quit(context, SIGTERM, SIGINT);
    quit.async_wait([&](error_code, int) { context.stop(); });
    tcp::acceptor acceptor(context, tcp::v4(), listenAndAnnounce(address));
    acceptNext(acceptor, pool);
    context.run();
    pool.join();
    return 0;
}
