// Question: what does Beast's server of plaintext/beast.cpp cost when only its context is replaced?
#include <weft/asio_io/context.hpp>

#include "../../support/beast_connection.hpp"

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::BeastConnection, weft::asio_io::Context>(argc, argv);
}
