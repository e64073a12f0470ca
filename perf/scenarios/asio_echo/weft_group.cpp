// Question: what does the same echo cost in the form for servers: a ContextGroup on the carrier of an event loop group?
#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>

#include "../../support/asio_echo.hpp"
#include "../../support/weft_asio.hpp"

int main(int argc, char** argv) {
    using namespace weft::perf;
    return serveContextGroup(argc, argv,
                             [](tcp::socket socket) { std::make_shared<EchoConnection<>>(std::move(socket))->read(); });
}
