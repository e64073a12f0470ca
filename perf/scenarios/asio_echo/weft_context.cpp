// Question: what does the program of asio_echo/asio.cpp cost when only its context is replaced?
#include <weft/asio_io/context.hpp>

#include "../../support/asio_echo.hpp"

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::EchoConnection<>, weft::asio_io::Context>(argc, argv);
}
