// Question: what does a Context cost when its sockets have the executor of its io_context, which Asio knows and calls
// without an indirection?
#include <weft/asio_io/context.hpp>

#include "../../support/asio_echo.hpp"

namespace {

struct Plain : weft::asio_io::Context {
    using Context::Context;
    using executor_type = io_context::executor_type;
    executor_type get_executor() noexcept { return io_context::get_executor(); }
};

}  // namespace

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::EchoConnection<>, Plain>(argc, argv);
}
