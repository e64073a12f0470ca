// An event loop group of one carrier with a ContextGroup on it, for the servers over Asio.
#pragma once

#include <future>
#include <utility>

#include <boost/asio/post.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>

#include "asio_server.hpp"
#include "weft_server.hpp"

namespace weft::perf {

// main() of a server with the flags of all Weft servers. Calls `start` in the loop with each accepted socket.
template <class Start>
int serveContextGroup(int argc, char** argv, Start start) {
    Flags flags(argc, argv, "--listen ADDR:PORT [--poll-us MICROSECONDS]");
    const ServerFlags wanted(flags);
    flags.finish();
    const auto address = parseEndpoint(wanted.listen);
    if (!address) flags.fail("--listen " + wanted.listen + ": expected IPV4:PORT");
    const ShutdownSignals signals;
    EventLoopGroupOptions options = wanted.group();
    options.ioHandler = asio_io::AsioIoHandler::wrap;
    EventLoopGroup group(options);
    asio_io::ContextGroup contexts(group);
    tcp::acceptor acceptor(contexts.context(0), tcp::v4(), listenAndAnnounce(*address));
    std::promise<void> accepting;
    asio::post(contexts.context(0), [&] {
        acceptNext(acceptor, start);
        accepting.set_value();
    });
    accepting.get_future().wait();
    return runUntilSignal(group, Duration::zero());
}

}  // namespace weft::perf
