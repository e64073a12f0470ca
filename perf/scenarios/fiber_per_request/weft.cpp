// Question: what does it cost to run each request on a fiber of its own, where it may block?
#include "../../support/weft_server.hpp"

int main(int argc, char** argv) {
    using namespace weft::perf;
    return serve(argc, argv, [](weft::ChannelPipeline& pipeline) {
        pipeline.addLast<FiberHandler<PlainAnswer>>(PlainAnswer{"/fiber"});
    });
}
