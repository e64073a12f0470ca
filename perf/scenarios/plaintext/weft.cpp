// Question: what does a request cost through the whole pipeline (epoll, codec, aggregator, handler) on one carrier?
#include "../../support/weft_server.hpp"

int main(int argc, char** argv) {
    return weft::perf::serve(
        argc, argv, [](weft::ChannelPipeline& pipeline) { pipeline.addLast<weft::perf::InlineHandler>("/plaintext"); });
}
