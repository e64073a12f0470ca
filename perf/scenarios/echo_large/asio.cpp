// Question: what does Boost.Asio cost where bytes are all there is to move?
// An io_context on one thread; a read of up to 64 KiB, then a write of the same bytes from the same buffer.
#include "../../support/asio_echo.hpp"
#include "../../support/echo.hpp"

int main(int argc, char** argv) {
    using namespace weft::perf;
    return serveAsio<EchoConnection<echoPiece>>(argc, argv);
}
