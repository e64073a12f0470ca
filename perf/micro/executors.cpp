// What does it cost to post a function to the own carrier and run it, with Asio's executor and with those of a Context?
// Each function posts the next one, so the queue holds one at a time. The floor is asio::post() to an executor with
// nothing but a queue of recycled blocks: no other thread, no work, no budget, no exceptions.
#include <benchmark/benchmark.h>

#include <new>
#include <utility>

#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/fiber_executor.hpp>

namespace {

namespace asio = boost::asio;

constexpr int posts = 100'000;

// One thread's.
class FloorQueue {
  public:
    struct Node {
        virtual ~Node() = default;
        virtual void run() = 0;
        Node* next = nullptr;
    };
    static constexpr std::size_t blockSize = 192;

    void push(Node& node) {
        *last_ = &node;
        last_ = &node.next;
    }
    void run() {
        while (Node* const node = first_) {
            first_ = node->next;
            if (first_ == nullptr) last_ = &first_;
            node->run();
        }
    }
    void restart() {}
    void* take() {
        return kept_ != nullptr ? std::exchange(kept_, *static_cast<void**>(kept_)) : ::operator new(blockSize);
    }
    void give(void* block) { kept_ = ::new (block) void*(kept_); }

  private:
    Node* first_ = nullptr;
    Node** last_ = &first_;
    void* kept_ = nullptr;  // leaks its last block
};

struct FloorExecutor {
    template <class Function>
    void execute(Function&& function) const {
        using Call = std::decay_t<Function>;
        struct Task final : FloorQueue::Node {
            Task(FloorQueue& its, Function&& source) : queue(its), call(std::forward<Function>(source)) {}
            void run() override {
                FloorQueue& freed = queue;
                Call moved(std::move(call));
                this->~Task();
                freed.give(this);
                moved();
            }
            FloorQueue& queue;
            Call call;
        };
        static_assert(sizeof(Task) <= FloorQueue::blockSize);
        queue->push(*::new (queue->take()) Task(*queue, std::forward<Function>(function)));
    }
    static constexpr asio::execution::blocking_t::never_t query(asio::execution::blocking_t) { return {}; }
    friend bool operator==(FloorExecutor a, FloorExecutor b) noexcept { return a.queue == b.queue; }
    friend bool operator!=(FloorExecutor a, FloorExecutor b) noexcept { return a.queue != b.queue; }

    FloorQueue* queue;
};

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

void ofTheFloor(benchmark::State& state) {
    FloorQueue queue;
    runPosts(state, queue, FloorExecutor{&queue});
}
BENCHMARK(ofTheFloor)->UseRealTime();

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
