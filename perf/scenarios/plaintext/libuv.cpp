// Question: what does libuv's loop cost where the application does next to nothing?
// One loop on one thread; requests are found by their empty line, answers are canned, and all answers to the requests
// of one read leave in one write. libuv knows no HTTP, so this is its ceiling.

#include "../../support/libuv_server.hpp"
#include "../../support/plaintext_answers.hpp"

namespace weft::perf {
namespace {

struct Connection {
    uv_tcp_t tcp;
    uv_write_t rest;
    char input[maxRequestHead];
    std::size_t filled = 0;
    std::string output;  // answers that the kernel has not accepted

    void start() { uv_read_start(stream(*this), give, onRead); }

    static void give(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        Connection& connection = of<Connection>(handle);
        *buffer = uv_buf_init(connection.input + connection.filled,
                              static_cast<unsigned>(sizeof connection.input - connection.filled));
    }

    static void onRead(uv_stream_t* from, ssize_t count, const uv_buf_t*) {
        Connection& connection = of<Connection>(reinterpret_cast<uv_handle_t*>(from));
        if (count == 0) return;
        if (count < 0) return close(connection);  // end of stream, an error, or a head larger than the buffer
        connection.filled += static_cast<std::size_t>(count);
        connection.answer();
    }

    void answer() {
        const std::size_t taken = answerWhole({input, filled}, output);
        filled -= taken;
        memmove(input, input + taken, filled);
        if (output.empty()) return;
        const uv_buf_t all = uv_buf_init(output.data(), static_cast<unsigned>(output.size()));
        const int sent = uv_try_write(stream(*this), &all, 1);
        if (sent < 0 && sent != UV_EAGAIN) return close(*this);
        output.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
        if (!output.empty()) finishLater();
    }

    // Bytes that the socket does not accept at once are sent later; nothing is read meanwhile.
    void finishLater() {
        uv_read_stop(stream(*this));
        const uv_buf_t all = uv_buf_init(output.data(), static_cast<unsigned>(output.size()));
        uv_write(&rest, stream(*this), &all, 1, [](uv_write_t* write, int status) {
            Connection& written = of<Connection>(reinterpret_cast<uv_handle_t*>(write->handle));
            written.output.clear();
            if (status < 0) return close(written);
            written.start();
        });
    }
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::serveLibuv<weft::perf::Connection>(argc, argv);
}
