// Question: what does libuv's loop cost where bytes are all there is to move?
// One loop on one thread; a read of up to 64 KiB, then a write of the same bytes from the same buffer, at once as far
// as the socket accepts them; nothing is read meanwhile.

#include <algorithm>

#include "../../support/echo.hpp"
#include "../../support/libuv_server.hpp"

namespace weft::perf {
namespace {

struct Connection {
    uv_tcp_t tcp;
    uv_write_t rest;
    char buffer[echoPiece];

    void start() { uv_read_start(stream(*this), give, onRead); }

    static void give(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        *buffer = uv_buf_init(of<Connection>(handle).buffer, echoPiece);
    }

    static void onRead(uv_stream_t* from, ssize_t count, const uv_buf_t* piece) {
        Connection& connection = of<Connection>(reinterpret_cast<uv_handle_t*>(from));
        if (count == 0) return;
        if (count < 0) return close(connection);
        uv_buf_t all = uv_buf_init(piece->base, static_cast<unsigned>(count));
        const int sent = uv_try_write(from, &all, 1);
        if (sent < 0 && sent != UV_EAGAIN) return close(connection);
        if (sent == count) return;
        const auto taken = static_cast<std::size_t>(std::max(sent, 0));
        all = uv_buf_init(piece->base + taken, static_cast<unsigned>(static_cast<std::size_t>(count) - taken));
        uv_read_stop(from);
        uv_write(&connection.rest, from, &all, 1, onWritten);
    }

    static void onWritten(uv_write_t* write, int status) {
        Connection& connection = of<Connection>(reinterpret_cast<uv_handle_t*>(write->handle));
        if (status < 0) return close(connection);
        connection.start();
    }
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::serveLibuv<weft::perf::Connection>(argc, argv);
}
