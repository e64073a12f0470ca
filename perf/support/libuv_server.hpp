// The accept loop that the servers over libuv share: the default loop on one thread until SIGTERM or SIGINT. A
// `Connection` has a member uv_tcp_t tcp and void start(), which is called once it is accepted; close() deletes it.
#pragma once

#include <uv.h>

#include <csignal>
#include <string>

#include "endpoint.hpp"

namespace weft::perf {

template <class Connection>
Connection& of(uv_handle_t* handle) {
    return *static_cast<Connection*>(handle->data);
}

template <class Connection>
uv_stream_t* stream(Connection& connection) {
    return reinterpret_cast<uv_stream_t*>(&connection.tcp);
}

template <class Connection>
void close(Connection& connection) {
    auto* const handle = reinterpret_cast<uv_handle_t*>(&connection.tcp);
    if (!uv_is_closing(handle)) uv_close(handle, [](uv_handle_t* closed) { delete &of<Connection>(closed); });
}

template <class Connection>
void onConnection(uv_stream_t* listener, int status) {
    if (status < 0) return;
    auto* const connection = new Connection;
    uv_tcp_init(listener->loop, &connection->tcp);
    connection->tcp.data = connection;
    if (uv_accept(listener, stream(*connection)) < 0) return close(*connection);
    uv_tcp_nodelay(&connection->tcp, 1);
    connection->start();
}

inline void check(const char* what, int result) {
    if (result < 0) die(std::string(what) + ": " + uv_strerror(result));
}

// main() of a server whose only flag is --listen.
template <class Connection>
int serveLibuv(int argc, char** argv) {
    Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    flags.finish();

    signal(SIGPIPE, SIG_IGN);  // libuv writes without MSG_NOSIGNAL
    uv_loop_t* const loop = uv_default_loop();
    uv_signal_t quit[2];
    for (int index = 0; const int number : {SIGTERM, SIGINT}) {
        uv_signal_init(loop, &quit[index]);
        const auto stop = [](uv_signal_t* signal, int) { uv_stop(signal->loop); };
        check("signal", uv_signal_start(&quit[index++], stop, number));
    }
    uv_tcp_t listener;
    check("listener", uv_tcp_init(loop, &listener));
    check("listener", uv_tcp_open(&listener, listenAndAnnounce(address)));
    check("listen", uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 4096, onConnection<Connection>));
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}

}  // namespace weft::perf
