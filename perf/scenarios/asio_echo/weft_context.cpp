// Question: what does it cost when the program of asio_echo/asio.cpp exchanges its context, and nothing else?
#include <weft/asio_io/context.hpp>

#include "../../support/asio_echo.hpp"

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::EchoConnection<>, weft::asio_io::Context>(argc, argv);
}
