// Question: what does it cost to run each request on a fiber of its own, where it may block?
#include <chrono>
#include <string>

#include "../../support/burn.hpp"
#include "../../support/weft_server.hpp"

namespace weft::perf {
namespace {

// Answers after a computation.
struct ComputedAnswer {
    std::string_view path;
    std::chrono::microseconds work;
    http::Response operator()(const http::FullRequest& request) const {
        burn(work);
        return answerTo(request, path);
    }
};

template <class Answer>
int serveFibers(const Flags& flags, const ServerFlags& wanted, const Answer& answer) {
    return serve(flags, wanted,
                 [answer](ChannelPipeline& pipeline) { pipeline.addLast<FiberHandler<Answer>>(answer); });
}

int run(int argc, char** argv) {
    Flags flags(argc, argv, std::string(ServerFlags::usage) + " [--work-us 0]");
    const ServerFlags wanted(flags);
    const std::chrono::microseconds work(flags.number("--work-us", 0, 0, 1'000'000));
    if (work.count() == 0) return serveFibers(flags, wanted, PlainAnswer{"/fiber"});
    return serveFibers(flags, wanted, ComputedAnswer{"/fiber", work});
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::run(argc, argv);
}
