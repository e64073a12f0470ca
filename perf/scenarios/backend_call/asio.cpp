// Question: what does a request cost that calls a backend asynchronously on one thread, as Asio is meant to be used?
// The fastest of the rivals, at a cost in code: failures and cancellation have to pass through callbacks. Connections
// to the backend are kept and reused last in, first out.

#include <vector>

#include "../../support/asio_ordered.hpp"
#include "../../support/backend_call.hpp"

namespace weft::perf {
namespace {

class Backend {
  public:
    using Answer = std::string;

    Backend(asio::io_context& context, const sockaddr_in& address)
        : context_(context), endpoint_(asio::ip::address_v4(ntohl(address.sin_addr.s_addr)), ntohs(address.sin_port)) {}

    bool knows(std::string_view head) const { return isBackendPath(head); }

    template <class Reply>
    void submit(bool known, Reply reply) {
        if (!known) return asio::post(context_, [reply] { reply(std::string(notFoundResponse)); });
        if (!idle_.empty()) {
            auto call = std::move(idle_.back());
            idle_.pop_back();
            return send(std::move(call), std::move(reply));
        }
        auto call = std::make_unique<Call>(context_);
        tcp::socket& socket = call->socket;
        socket.async_connect(endpoint_, [this, call = std::move(call), reply](error_code error) mutable {
            if (error) return reply(std::string(badGatewayResponse));
            call->socket.set_option(tcp::no_delay(true));
            send(std::move(call), std::move(reply));
        });
    }

  private:
    // A connection to the backend and the bytes received on it.
    struct Call {
        explicit Call(asio::io_context& context) : socket(context) {}
        tcp::socket socket;
        char received[4096];
        std::size_t filled = 0;
    };

    template <class Reply>
    void send(std::unique_ptr<Call> call, Reply reply) {
        tcp::socket& socket = call->socket;
        asio::async_write(socket, asio::buffer(backendRequest),
                          [this, call = std::move(call), reply](error_code error, std::size_t) mutable {
                              if (error) return reply(std::string(badGatewayResponse));
                              call->filled = 0;
                              receive(std::move(call), std::move(reply));
                          });
    }

    template <class Reply>
    void receive(std::unique_ptr<Call> call, Reply reply) {
        Call& one = *call;
        one.socket.async_read_some(asio::buffer(one.received + one.filled, sizeof one.received - one.filled),
                                   [this, call = std::move(call), reply](error_code error, std::size_t count) mutable {
                                       if (error) return reply(std::string(badGatewayResponse));
                                       call->filled += count;
                                       const auto body = backendBody({call->received, call->filled});
                                       if (!body) return receive(std::move(call), std::move(reply));
                                       std::string answer = answerWithBody(*body);
                                       idle_.push_back(std::move(call));
                                       reply(std::move(answer));
                                   });
    }

    asio::io_context& context_;
    tcp::endpoint endpoint_;
    std::vector<std::unique_ptr<Call>> idle_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT --backend ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const sockaddr_in backendAddress = endpointFlag(flags, "--backend");
    flags.finish();

    asio::io_context context(1);
    Backend backend(context, backendAddress);
    serveOrdered(context, address, backend);
    return 0;
}
