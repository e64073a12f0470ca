// What does a post to the own carrier and its run cost, by Asio's executor and by those of a Context? A function posts
// the next one, so the queue holds one at a time.
#include <benchmark/benchmark.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/fiber_executor.hpp>

namespace {

namespace asio = boost::asio;

constexpr int posts = 100'000;

template <class Executor>
struct Chain {
    Executor executor;
    int* left;
    void operator()() const {
        if (--*left > 0) asio::post(executor, *this);
    }
};

template <class Context, class Executor>
void runPosts(benchmark::State& state, Context& context, const Executor& executor) {
    for (auto _ : state) {
        int left = posts;
        asio::post(executor, Chain<Executor>{executor, &left});
        context.run();
        context.restart();
    }
    state.SetItemsProcessed(state.iterations() * posts);
}

void ofIoContext(benchmark::State& state) {
    asio::io_context context(1);
    runPosts(state, context, context.get_executor());
}
BENCHMARK(ofIoContext)->UseRealTime();

void ofLoopExecutor(benchmark::State& state) {
    weft::asio_io::Context context;
    runPosts(state, context, context.get_executor());
}
BENCHMARK(ofLoopExecutor)->UseRealTime();

void ofFiberExecutor(benchmark::State& state) {
    weft::asio_io::Context context;
    runPosts(state, context, weft::asio_io::FiberExecutor(context));
}
BENCHMARK(ofFiberExecutor)->UseRealTime();

}  // namespace
