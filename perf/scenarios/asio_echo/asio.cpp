// Question: what does an echo of small messages cost over a plain io_context, by callbacks?
#include "../../support/asio_echo.hpp"

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::EchoConnection<>>(argc, argv);
}
