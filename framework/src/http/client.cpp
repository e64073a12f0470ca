#include <weft/framework/http/client.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/framework/http/client_pool.hpp>
#include <weft/framework/http/client_response_parser.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft::http {

namespace {

// Boost gives the base class no virtual destructor on purpose: categories are never deleted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class ClientCategory final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "weft.http.client"; }
    std::string message(int value) const override {
        switch (static_cast<ClientFault>(value)) {
            case ClientFault::badResponse: return "bad response";
            case ClientFault::headTooLarge: return "response head too large";
            case ClientFault::bodyTooLarge: return "response body too large";
            case ClientFault::endedEarly: return "response ended early";
            case ClientFault::badStatus: return "the answer is no success";
        }
        return "unknown";
    }
};
#pragma GCC diagnostic pop

constexpr std::size_t readBytes = 8 * 1024;

bool printable(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Deadline deadlineOf(const GetOptions& options) noexcept {
    const TimePoint now = Clock::steady().now();
    return options.timeout >= never - now ? options.deadline : std::min(options.deadline, now + options.timeout);
}

}  // namespace

const boost::system::error_category& clientCategory() noexcept {
    static const ClientCategory category;
    return category;
}

// One get() on its way.
struct ClientCall {
    const SocketAddress& backend;
    std::string_view target;
    const GetOptions& options;
    const Deadline deadline;
    ErrorCode error = {};
    std::string_view what = {};  // constant text: the step that failed, or what was wrong with the response

    void check() const {
        if (target.empty() || target.front() != '/' || !printable(target)) {
            throw std::invalid_argument("http::get(): the target '" + std::string(target) +
                                        "' must begin with '/' and be printable ASCII without spaces");
        }
        if (!printable(options.host)) throw std::invalid_argument("http::get(): the host option has invalid characters");
        if (NonSuspendingScope::active()) throw BlockingOperationException("http::get");
        if (!thisFiber::isFiber()) throw std::logic_error("http::get() outside of a fiber: spawn one and call it there");
    }

    ClientResponse run() {
        ClientPool& pool = thisFiber::carrier()->local<ClientPool>();
        if (TcpStream idle = pool.take(backend); idle.isOpen()) {
            bool dead = false;
            ClientResponse response = exchange(std::move(idle), pool, dead);
            if (!dead) return response;
            pool.drop(backend);
        }
        TcpStream fresh = TcpStream::connect(backend, deadline, error);
        if (error) {
            what = "cannot connect";
            return {};
        }
        bool dead = false;
        return exchange(std::move(fresh), pool, dead);
    }

    // `dead`: the connection ended before a byte of the answer came, so that the request may be sent again.
    ClientResponse exchange(TcpStream stream, ClientPool& pool, bool& dead) {
        error = {};
        stream.setDeadline(deadline);
        ClientResponseParser parser(options.maxBodyBytes);
        sendRequest(stream);
        bool clean = true;  // nothing behind the response
        while (!error && !parser.complete()) clean = receive(stream, parser);
        if (error) {
            dead = !parser.started() && error != timedOut() && error != operationAborted();
            return {};
        }
        ClientResponse response = parser.take();
        response.request_ = url();
        if (clean && parser.keepAlive()) {
            stream.setDeadline(never);
            pool.put(backend, std::move(stream));
        }
        return response;
    }

    void sendRequest(TcpStream& stream) {
        const std::string host = options.host.empty() ? backend.toString() : std::string(options.host);
        stream.write({"GET ", target, " HTTP/1.1\r\nHost: ", host, "\r\n\r\n"}, error);
        if (error) what = "sending the request failed";
    }

    // False when bytes came that are not part of the response.
    bool receive(TcpStream& stream, ClientResponseParser& parser) {
        std::array<char, readBytes> bytes;
        const std::size_t count = stream.read(bytes, error);
        if (error) {
            what = error == timedOut() ? "no complete answer in time" : "reading the response failed";
            return false;
        }
        const bool all = count == 0 || parser.feed({bytes.data(), count}) == count;
        if (count == 0) parser.endOfInput();
        if (parser.failed()) {
            error = parser.fault();
            what = parser.reason();
        }
        return all;
    }

    std::string url() const { return "http://" + backend.toString() + std::string(target); }

    ClientError failure() const {
        return ClientError(error, "GET " + url() + ": " + std::string(what), Status{});
    }
};

ClientResponse::operator Buffer() && {
    if (succeeded()) return takeBody();
    throw ClientError(make_error_code(ClientFault::badStatus),
                      "GET " + request_ + ": status " + std::to_string(codeOf(status_)) + " " + std::string(reason()),
                      status_);
}

ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options) {
    ClientCall call{backend, target, options, deadlineOf(options)};
    call.check();
    ClientResponse response = call.run();
    if (call.error) throw call.failure();
    return response;
}

ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options, ErrorCode& error) {
    ClientCall call{backend, target, options, deadlineOf(options)};
    call.check();
    ClientResponse response = call.run();
    error = call.error;
    return response;
}

}  // namespace weft::http
