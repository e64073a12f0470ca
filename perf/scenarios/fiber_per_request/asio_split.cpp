// Question: what does it cost to run each request's handler on a worker pool, the usual way to allow blocking calls,
// compared with a fiber on the loop's own thread?
// Asio's io_context on one thread reads and writes; each request posts an empty blocking-style task to a thread_pool
// of --workers threads, which posts the answer back to the connection's executor. Answers keep the order of requests,
// and answers that are ready together leave in one write, so only the hand-off itself costs extra.

#include "../../support/asio_ordered.hpp"
#include "../../support/canned_response.hpp"

namespace weft::perf {
namespace {

struct Handler {
    bool knows(std::string_view head) const {
        return head.starts_with("GET /fiber ") || head.starts_with("GET /plaintext ");
    }

    // The work of a request on a worker thread. Empty, and opaque to the compiler: the scenario measures the hand-off.
    [[gnu::noinline]] std::string_view handle(bool known) const {
        asm volatile("" ::: "memory");
        return known ? cannedResponse : notFoundResponse;
    }
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT [--workers N=1]");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const auto workers = static_cast<std::size_t>(flags.number("--workers", 1, 1, 64));
    flags.finish();

    asio::io_context context(1);
    WorkerPool<Handler> pool(workers, Handler{});
    serveOrdered(context, address, pool);
    return 0;
}
