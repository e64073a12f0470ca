// A connection over Asio for servers that hand requests off: answers are produced elsewhere in any order, and leave in
// the order of the requests. Answers that are ready together leave in one write.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asio_server.hpp"

namespace weft::perf {

inline constexpr std::size_t maxRequest = 16 * 1024;
inline constexpr std::size_t maxInFlight = 4096;  // unanswered requests of a connection before it stops reading

// `Service` has: Answer, a string type; bool knows(head of a request); void submit(bool known, Reply), which calls the
// reply once, on the reply's executor, with an answer that is not empty.
template <class Service>
class OrderedConnection : public std::enable_shared_from_this<OrderedConnection<Service>> {
  public:
    using Answer = typename Service::Answer;

    class Reply {
      public:
        Reply(std::shared_ptr<OrderedConnection> connection, std::size_t ticket)
            : connection_(std::move(connection)), ticket_(ticket) {}
        auto executor() const { return connection_->socket_.get_executor(); }
        void operator()(Answer answer) const { connection_->answer(ticket_, std::move(answer)); }

      private:
        std::shared_ptr<OrderedConnection> connection_;
        std::size_t ticket_;
    };

    OrderedConnection(tcp::socket socket, Service& service) : socket_(std::move(socket)), service_(service) {}

    void read() {
        reading_ = true;
        socket_.async_read_some(asio::buffer(input_ + filled_, sizeof input_ - filled_),
                                [self = this->shared_from_this()](error_code error, std::size_t count) {
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
            submit(service_.knows(rest.substr(0, end)));
        memmove(input_, rest.data(), rest.size());
        filled_ = rest.size();
        if (filled_ == sizeof input_) close();  // a head larger than the buffer
    }

    void submit(bool known) {
        const std::size_t ticket = firstTicket_ + answers_.size();
        answers_.emplace_back();
        service_.submit(known, Reply(this->shared_from_this(), ticket));
    }

    void answer(std::size_t ticket, Answer text) {
        answers_[ticket - firstTicket_] = std::move(text);
        while (!answers_.empty() && !answers_.front().empty()) {
            output_.append(answers_.front());
            answers_.pop_front();
            ++firstTicket_;
        }
        if (output_.empty() || writing_ || flushPosted_) return;
        if (answers_.empty()) return write();
        flushPosted_ = true;  // more answers are pending: let those already queued join this write
        asio::post(socket_.get_executor(), [self = this->shared_from_this()] {
            self->flushPosted_ = false;
            if (!self->writing_ && !self->output_.empty()) self->write();
        });
    }

    void write() {
        writing_ = true;
        inWrite_.swap(output_);
        asio::async_write(socket_, asio::buffer(inWrite_),
                          [self = this->shared_from_this()](error_code error, std::size_t) {
                              self->writing_ = false;
                              self->inWrite_.clear();
                              if (error) return self->close();
                              if (!self->output_.empty()) self->write();
                              self->readMore();
                          });
    }

    void readMore() {
        if (!reading_ && socket_.is_open() && answers_.size() < maxInFlight) read();
    }

    void close() {
        error_code ignored;
        socket_.close(ignored);
    }

    tcp::socket socket_;
    Service& service_;
    char input_[maxRequest];
    std::size_t filled_ = 0;
    std::deque<Answer> answers_;   // in request order; an element is empty until it is ready
    std::size_t firstTicket_ = 0;  // the ticket of answers_.front()
    std::string output_;           // answers not yet passed to the kernel
    std::string inWrite_;
    bool reading_ = false;
    bool writing_ = false;
    bool flushPosted_ = false;
};

// A Service that runs `Handler` (knows(head); handle(known) -> Answer, which may block) on a pool of worker threads.
template <class Handler>
class WorkerPool {
  public:
    using Answer = decltype(std::declval<Handler&>().handle(true));

    WorkerPool(std::size_t workers, Handler handler) : pool_(workers), handler_(std::move(handler)) {}
    ~WorkerPool() {
        pool_.stop();  // drops requests that no worker has begun
        pool_.join();
    }

    bool knows(std::string_view head) const { return handler_.knows(head); }

    template <class Reply>
    void submit(bool known, Reply reply) {
        asio::post(pool_, [this, known, reply = std::move(reply)]() mutable {
            Answer answer = handler_.handle(known);
            const auto executor = reply.executor();
            asio::post(executor,
                       [reply = std::move(reply), answer = std::move(answer)]() mutable { reply(std::move(answer)); });
        });
    }

  private:
    asio::thread_pool pool_;
    Handler handler_;
};

// Serves on the calling thread until a signal; all requests go to `service`.
template <class Service>
void serveOrdered(asio::io_context& context, const sockaddr_in& address, Service& service) {
    serveAsio(context, address, [&service](tcp::socket socket) {
        std::make_shared<OrderedConnection<Service>>(std::move(socket), service)->read();
    });
}

}  // namespace weft::perf
