// Question: what does a request cost in Boost.Beast, which parses and writes HTTP over Asio?
// One thread. With --answer-ids (response_varied) each answer has an id in a header.

#include "../../support/beast_connection.hpp"

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT [--answer-ids]");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const bool answerIds = flags.present("--answer-ids");
    flags.finish();
    asio::io_context context(1);
    serveAsio(context, address, [answerIds](tcp::socket socket) {
        std::make_shared<BeastConnection>(std::move(socket), answerIds)->read();
    });
    return 0;
}
