// The accept loop that the servers over Asio share: one I/O thread that accepts until SIGTERM or SIGINT.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <utility>

#include "endpoint.hpp"

namespace weft::perf {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

template <class Start>
void acceptNext(tcp::acceptor& acceptor, Start& start) {
    acceptor.async_accept([&acceptor, &start](error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            start(std::move(socket));
        }
        acceptNext(acceptor, start);
    });
}

// Listens, prints the listening line and runs `context` on the calling thread until a signal. Calls `start` with each
// accepted socket.
template <class Context, class Start>
void serveAsio(Context& context, const sockaddr_in& address, Start start) {
    asio::signal_set quit(context, SIGTERM, SIGINT);
    quit.async_wait([&](error_code, int) { context.stop(); });
    tcp::acceptor acceptor(context, tcp::v4(), listenAndAnnounce(address));
    acceptNext(acceptor, start);
    context.run();
}

// main() of a server whose only flag is --listen, and whose connections begin with read().
template <class Connection, class Context = asio::io_context>
int serveAsio(int argc, char** argv) {
    Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    flags.finish();
    Context context(1);
    serveAsio(context, address, [](tcp::socket socket) { std::make_shared<Connection>(std::move(socket))->read(); });
    return 0;
}

}  // namespace weft::perf
