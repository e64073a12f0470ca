// Question: what does an echo cost when a fiber for each connection waits for its operations?
#include <weft/asio_io/use_fiber.hpp>

#include <array>

#include <weft/scheduler/carrier.hpp>

#include "../../support/asio_echo.hpp"
#include "../../support/weft_asio.hpp"

namespace {

using namespace weft::perf;

void echo(tcp::socket& socket) {
    std::array<char, smallPiece> buffer;
    error_code error;
    while (!error) {
        const std::size_t count = socket.async_read_some(asio::buffer(buffer), weft::asio_io::use_fiber[error]);
        if (!error) asio::async_write(socket, asio::buffer(buffer, count), weft::asio_io::use_fiber[error]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    return serveContextGroup(argc, argv, [](tcp::socket socket) {
        weft::Carrier::current()->spawnDetached([socket = std::move(socket)]() mutable { echo(socket); });
    });
}
