// Question: what does libuv's loop cost where the application does next to nothing?
// One loop on one thread; requests are found by their empty line, answers are canned, and all answers to what one read
// brought leave in one write. libuv knows no HTTP, so this is its ceiling.

#include <uv.h>

#include "../../support/endpoint.hpp"
#include "../../support/plaintext_answers.hpp"

namespace weft::perf {
namespace {

struct Connection {
    uv_tcp_t tcp;
    uv_write_t write;
    char input[kMaxRequestHead];
    std::size_t filled = 0;
    std::string output;  // answered, not yet in the kernel
};

Connection& of(uv_handle_t* handle) {
    return *static_cast<Connection*>(handle->data);
}
uv_stream_t* stream(Connection& connection) {
    return reinterpret_cast<uv_stream_t*>(&connection.tcp);
}

void close(Connection& connection) {
    auto* const handle = reinterpret_cast<uv_handle_t*>(&connection.tcp);
    if (!uv_is_closing(handle)) uv_close(handle, [](uv_handle_t* closed) { delete &of(closed); });
}

void give(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
    Connection& connection = of(handle);
    *buffer = uv_buf_init(connection.input + connection.filled,
                          static_cast<unsigned>(sizeof connection.input - connection.filled));
}

void onRead(uv_stream_t* from, ssize_t count, const uv_buf_t*);

/// What the socket did not take at once goes out later; nothing is read meanwhile.
void finishLater(Connection& connection) {
    uv_read_stop(stream(connection));
    const uv_buf_t rest = uv_buf_init(connection.output.data(), static_cast<unsigned>(connection.output.size()));
    uv_write(&connection.write, stream(connection), &rest, 1, [](uv_write_t* write, int status) {
        Connection& written = of(reinterpret_cast<uv_handle_t*>(write->handle));
        written.output.clear();
        if (status < 0) return close(written);
        uv_read_start(stream(written), give, onRead);
    });
}

void onRead(uv_stream_t* from, ssize_t count, const uv_buf_t*) {
    Connection& connection = of(reinterpret_cast<uv_handle_t*>(from));
    if (count == 0) return;
    if (count < 0) return close(connection);  // its end, an error, or a head larger than the buffer
    connection.filled += static_cast<std::size_t>(count);
    const std::size_t taken = answerWhole({connection.input, connection.filled}, connection.output);
    connection.filled -= taken;
    memmove(connection.input, connection.input + taken, connection.filled);
    if (connection.output.empty()) return;
    const uv_buf_t all = uv_buf_init(connection.output.data(), static_cast<unsigned>(connection.output.size()));
    const int sent = uv_try_write(from, &all, 1);
    if (sent < 0 && sent != UV_EAGAIN) return close(connection);
    connection.output.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
    if (!connection.output.empty()) finishLater(connection);
}

void onConnection(uv_stream_t* listener, int status) {
    if (status < 0) return;
    auto* const connection = new Connection;
    uv_tcp_init(listener->loop, &connection->tcp);
    connection->tcp.data = connection;
    if (uv_accept(listener, stream(*connection)) < 0) return close(*connection);
    uv_tcp_nodelay(&connection->tcp, 1);
    uv_read_start(stream(*connection), give, onRead);
}

void check(const char* what, int result) {
    if (result < 0) die(std::string(what) + ": " + uv_strerror(result));
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    flags.finish();

    uv_loop_t* const loop = uv_default_loop();
    uv_signal_t quit[2];
    for (int index = 0; const int number : {SIGTERM, SIGINT}) {
        uv_signal_init(loop, &quit[index]);
        check("signal", uv_signal_start(
                            &quit[index++], [](uv_signal_t* signal, int) { uv_stop(signal->loop); }, number));
    }
    uv_tcp_t listener;
    check("listener", uv_tcp_init(loop, &listener));
    check("listener", uv_tcp_open(&listener, listenAndAnnounce(address)));
    check("listen", uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 4096, onConnection));
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
