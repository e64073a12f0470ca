// Question: what does AsioIoHandler cost a server of channels that has no Context?
#include <weft/asio_io/asio_io_handler.hpp>

#include "../../support/weft_server.hpp"

int main(int argc, char** argv) {
    return weft::perf::serve(
        argc, argv, [](weft::ChannelPipeline& pipeline) { pipeline.addLast<weft::perf::InlineHandler>("/plaintext"); },
        weft::asio_io::AsioIoHandler::wrap);
}
