// A Boost.Beast HTTP server on carriers: one Context per carrier and no other thread. A connection's socket, timer and
// handlers stay on one carrier.
#include "support/program.hpp"

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/http/date_cache.hpp>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Executor = weft::asio_io::LoopExecutor;
using Stream = beast::basic_stream<tcp, Executor>;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using Request = http::request<http::string_body>;

constexpr std::chrono::seconds idleTime(60);
constexpr std::chrono::seconds drainTime(5);
constexpr std::chrono::milliseconds pause(500);  // after a failed accept
constexpr std::string_view hello = "Hello, World!";

class Session;

// Shared by the connections of one carrier. Context: that carrier.
class Place {
  public:
    explicit Place(Executor executor) : executor_(executor) {}

    Executor executor() const noexcept { return executor_; }
    void join(Session& session) { sessions_.insert(&session); }
    void leave(Session& session) {
        sessions_.erase(&session);
        completeIfDrained();
    }
    bool draining() const noexcept { return draining_; }
    // Ends each connection after the response that it is writing.
    void drain();
    weft::Future<void> drained() const { return drained_.future(); }
    std::string_view date() noexcept { return date_.at(std::time(nullptr)); }

  private:
    void completeIfDrained() {
        if (draining_ && sessions_.empty()) drained_.setValue();
    }

    const Executor executor_;
    std::unordered_set<Session*> sessions_;
    weft::http::DateCache date_;
    bool draining_ = false;
    weft::Promise<void> drained_;
};

template <class Body>
http::message_generator finished(http::response<Body> response, const Request& request, Place& place) {
    response.set(http::field::server, "weft");
    response.set(http::field::date, place.date());
    response.keep_alive(request.keep_alive() && !place.draining());
    response.prepare_payload();
    return http::message_generator(std::move(response));
}

http::message_generator answer(const Request& request, Place& place) {
    const bool head = request.method() == http::verb::head;
    if (request.target() != "/plaintext")
        return finished(http::response<http::string_body>(http::status::not_found, request.version()), request, place);
    if (!head && request.method() != http::verb::get) {
        http::response<http::string_body> refusal(http::status::method_not_allowed, request.version());
        refusal.set(http::field::allow, "GET, HEAD");
        return finished(std::move(refusal), request, place);
    }
    http::response<http::string_body> response(http::status::ok, request.version());
    response.set(http::field::content_type, "text/plain");
    response.body() = hello;
    if (!head) return finished(std::move(response), request, place);
    http::response<http::empty_body> bodiless(std::move(response.base()));
    bodiless.content_length(hello.size());
    bodiless.set(http::field::server, "weft");
    bodiless.set(http::field::date, place.date());
    bodiless.keep_alive(request.keep_alive() && !place.draining());
    return http::message_generator(std::move(bodiless));
}

// One connection: reads a request, writes the response, and repeats.
class Session final : public std::enable_shared_from_this<Session> {
  public:
    Session(Socket socket, Place& place) : stream_(std::move(socket)), place_(place) { place_.join(*this); }
    ~Session() { place_.leave(*this); }

    // During a drain, reads only what has already arrived.
    void read() {
        waits_ = true;
        request_ = {};
        stream_.expires_after(idleTime);
        http::async_read(stream_, buffer_, request_, [self = shared_from_this()](error_code error, std::size_t) {
            self->waits_ = false;
            if (!error) self->write();  // otherwise the connection ends with its last owner
        });
        if (place_.draining()) drain();
    }
    // Still answers a request that has already arrived. Closing with unread input would reset the connection.
    void drain() {
        error_code ignored;
        if (waits_) stream_.socket().shutdown(tcp::socket::shutdown_receive, ignored);
    }

  private:
    void write() {
        http::message_generator response = answer(request_, place_);
        const bool keepAlive = response.keep_alive();
        beast::async_write(stream_, std::move(response),
                           [self = shared_from_this(), keepAlive](error_code error, std::size_t) {
                               if (error) return;
                               if (keepAlive) return self->read();
                               error_code ignored;
                               self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                           });
    }

    Stream stream_;
    Place& place_;
    beast::flat_buffer buffer_{64 * 1024};
    Request request_;
    bool waits_ = false;
};

void Place::drain() {
    draining_ = true;
    for (Session* const session : sessions_) session->drain();
    completeIfDrained();
}

// Accepts on the first carrier, in a fiber, and passes each connection to the next carrier.
class Listener {
  public:
    Listener(weft::asio_io::Context& context, const weft::SocketAddress& address) : acceptor_(context) {
        const tcp::endpoint endpoint(asio::ip::make_address(address.host()), address.port());
        acceptor_.open(endpoint.protocol());
        acceptor_.set_option(tcp::acceptor::reuse_address(true));
        acceptor_.bind(endpoint);
        acceptor_.listen();
    }

    weft::SocketAddress address() const {
        const tcp::endpoint endpoint = acceptor_.local_endpoint();
        return weft::SocketAddress(endpoint.address().to_string(), endpoint.port());
    }
    // Runs until close(). Context: a fiber of the first carrier.
    void acceptFor(const std::vector<std::unique_ptr<Place>>& places) {
        for (std::size_t next = 0;; next = (next + 1) % places.size()) {
            Place& place = *places[next];
            error_code error;
            Socket socket = acceptor_.async_accept(place.executor(), weft::asio_io::use_fiber[error]);
            if (!acceptor_.is_open()) return;
            if (error) {
                weft::thisFiber::sleepFor(pause);  // for example out of descriptors
                continue;
            }
            asio::post(place.executor(), [&place, socket = std::move(socket)]() mutable {
                std::make_shared<Session>(std::move(socket), place)->read();
            });
        }
    }
    // Context: any thread.
    void close() {
        asio::post(acceptor_.get_executor(), [this] { acceptor_.close(); });
    }

  private:
    asio::basic_socket_acceptor<tcp, Executor> acceptor_;
};

// Waits until the connections have ended, at most for drainTime.
void drain(const std::vector<std::unique_ptr<Place>>& places) {
    for (const auto& place : places) asio::post(place->executor(), [&place] { place->drain(); });
    const weft::Deadline end = weft::deadlineAfter(drainTime);
    for (const auto& place : places) place->drained().awaitUntil(end);
}

int run(const CLI::App& app, const examples::ServerFlags& flags) {
    weft::EventLoopGroupOptions options = flags.group;
    options.ioHandler = weft::asio_io::AsioIoHandler::wrap;
    weft::EventLoopGroup group(options);
    std::vector<std::unique_ptr<Place>> places;  // connections that outlive the drain end with the contexts
    weft::asio_io::ContextGroup contexts(group);
    places.reserve(contexts.size());
    for (std::size_t i = 0; i < contexts.size(); ++i)
        places.push_back(std::make_unique<Place>(contexts.context(i).get_executor()));
    weft::ShutdownSignals signals;  // before the program announces that it is ready
    std::optional<Listener> listener;
    try {
        listener.emplace(contexts.context(0), flags.listen);
    } catch (const weft::SystemError& error) {
        return examples::cannotListen(app, flags.listen, error);
    }
    auto accepting = contexts.context(0).loop().carrier()->spawn([&] { listener->acceptFor(places); });
    examples::announce(listener->address());
    signals.wait();
    listener->close();
    accepting.join();
    drain(places);
    return examples::success;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Serves /plaintext with Boost.Beast.", "asio_http_server");
    const examples::ServerFlags flags(app, weft::SocketAddress("127.0.0.1", 8080));
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
