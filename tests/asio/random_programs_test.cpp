// Random programs complete on a Context in the order of an io_context. A program is made from a seed while it runs:
// each handler starts what the generator draws next, so the first completion in another order changes all that follow.
// All that a program starts is ready at once or never, so no completion depends on time. WEFT_ASIO_SEEDS sets the
// number of programs (scripts/prove: 10,000).
#include "asio/order_kit.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "support/sanitized.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;
using Channel = asio::experimental::channel<void(boost::system::error_code)>;
using Strand = asio::strand<asio::io_context::executor_type>;
using boost::system::error_code;
using namespace std::chrono_literals;

unsigned programs() {
    if (const char* given = std::getenv("WEFT_ASIO_SEEDS")) return static_cast<unsigned>(std::stoul(given));
#ifdef WEFT_SANITIZED
    return 20;
#else
    return 100;
#endif
}

// The objects of a program, made when they are first used.
class Objects {
  public:
    struct Link {
        explicit Link(asio::io_context& io) : ends{Local::socket(io), Local::socket(io)} {
            asio::local::connect_pair(ends[0], ends[1]);
            for (auto& end : ends) end.non_blocking(true);
        }
        std::array<Local::socket, 2> ends;
    };

    explicit Objects(asio::io_context& io) : io_(io) {}

    Local::socket& socket(unsigned number) {
        return at(links_, number / 2, [this] { return std::make_unique<Link>(io_); }).ends[number % 2];
    }
    asio::steady_timer& timer(unsigned number) {
        return at(timers_, number, [this] { return std::make_unique<asio::steady_timer>(io_); });
    }
    Channel& channel(unsigned number) {
        return at(channels_, number, [this] { return std::make_unique<Channel>(io_.get_executor(), 1); });
    }
    Strand& strand(unsigned number) {
        return at(strands_, number, [this] { return std::make_unique<Strand>(io_.get_executor()); });
    }
    // These end what waits for the object.
    void removeLink(unsigned number) { links_[number / 2 % kept].reset(); }
    void removeTimer(unsigned number) { timers_[number % kept].reset(); }
    void removeAll() {
        for (unsigned i = 0; i < kept; ++i) links_[i].reset(), timers_[i].reset(), channels_[i].reset();
    }

  private:
    static constexpr unsigned kept = 5;
    template <class T>
    using Kept = std::array<std::unique_ptr<T>, kept>;

    template <class T, class Make>
    static T& at(Kept<T>& objects, unsigned number, Make make) {
        auto& object = objects[number % kept];
        if (object == nullptr) object = make();
        return *object;
    }

    asio::io_context& io_;
    Kept<Link> links_;
    Kept<asio::steady_timer> timers_;
    Kept<Channel> channels_;
    Kept<Strand> strands_;
};

class RandomProgram {
  public:
    RandomProgram(test::AnyContext& context, unsigned seed)
        : context_(context), io_(context.io()), random_(seed), objects_(io_) {
        withoutObjects_ = drawn(2) == 0 ? 0 : drawn(100);
    }

    test::Trace play() {
        while (left_ > 0) {
            for (unsigned i = drawn(4); i > 0; --i) start();
            callOnce();
        }
        objects_.removeAll();
        do {
            io_.restart();
        } while (call([this] { return context_.run(); }) != 0);
        return std::move(trace_);
    }

  private:
    static constexpr unsigned none = ~0U;

    unsigned drawn(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

    // ---- calls of the loop. None waits for ever: a function has been posted, or a timer has expired ----

    void callOnce() {
        if (io_.stopped() && drawn(8) != 0) io_.restart();
        switch (drawn(6)) {
            case 0: call([this] { return context_.poll(); }); break;
            case 1:
            case 2: call([this] { return context_.pollOne(); }); break;
            case 3:
                asio::post(io_, completion('p'));
                call([this] { return context_.runOne(); });
                break;
            case 4:
                startExpiredTimer();
                call([this] { return context_.runOne(); });
                break;
            case 5:
                stopAfter(drawn(20));
                call([this] { return context_.run(); });
                break;
        }
    }
    template <class Function>
    std::size_t call(Function function) {
        std::size_t ran = none;
        try {
            ran = function();
        } catch (const std::runtime_error&) {
        }
        trace_.push_back((ran == none ? "!" : "=" + std::to_string(ran)) + (io_.stopped() ? "S" : ""));
        return ran;
    }
    void stopAfter(unsigned posts) {
        asio::post(io_, [this, posts] {
            if (posts == 0) return io_.stop();
            stopAfter(posts - 1);
        });
    }

    // ---- handlers ----

    struct Completion {
        RandomProgram* program;
        std::string name;

        template <class... Results>
        void operator()(const Results&... results) const {
            program->handle(name + textOf(results...));
        }
    };
    Completion completion(char kind) { return {this, kind + std::to_string(++started_)}; }
    static std::string textOf() { return {}; }
    template <class First, class... Others>
    static std::string textOf(const First& first, const Others&...) {
        if constexpr (std::is_same_v<First, error_code>) return first ? ":" + std::to_string(first.value()) : "";
        return {};
    }
    void handle(const std::string& name) {
        trace_.push_back(name);
        ++depth_;
        for (unsigned i = drawn(3); i > 0 && left_ > 0; --i) start();
        --depth_;
        if (drawn(60) == 0) io_.stop();
        if (depth_ == 0 && drawn(40) == 0) throw std::runtime_error("thrown");
    }

    // ---- what a program starts ----

    void start() {
        if (left_ == 0) return;
        --left_;
        if (withoutObjects_ > 0) {
            --withoutObjects_;
            return startFunction(drawn(9));
        }
        drawn(2) == 0 ? startFunction(drawn(9)) : startOperation(drawn(16));
    }

    void startFunction(unsigned kind) {
        switch (kind) {
            case 0:
            case 1: return asio::post(io_, completion('p'));
            case 2: return asio::defer(io_, completion('f'));
            case 3: return depth_ < 3 ? asio::dispatch(io_, completion('d')) : asio::post(io_, completion('p'));
            case 4: return asio::post(objects_.strand(drawn(8)), completion('s'));
            case 5: return depth_ < 3 ? asio::dispatch(objects_.strand(drawn(8)), completion('e')) : void();
            case 6: return startCoroutine();
            case 7: return objects_.channel(drawn(8)).async_send(error_code(), completion('>'));
            case 8:
                if (drawn(8) == 0) return postByThread();
                return objects_.channel(drawn(8)).async_receive(completion('<'));
        }
    }
    void startCoroutine() {
        asio::co_spawn(
            io_,
            [this]() -> asio::awaitable<void> {
                const std::string name = "c" + std::to_string(++started_);
                for (unsigned i = drawn(3); i > 0; --i) {
                    trace_.push_back(name);
                    co_await asio::post(io_, asio::use_awaitable);
                }
                completion('C')();
            },
            [](const std::exception_ptr& error) {
                if (error) std::rethrow_exception(error);
            });
    }
    void postByThread() {
        std::thread([this] { asio::post(io_, completion('t')); }).join();
    }

    void startOperation(unsigned kind) {
        const unsigned number = drawn(16);
        switch (kind) {
            case 0:
            case 1: return startExpiredTimer();
            case 2: objects_.timer(number).expires_after(1h); return objects_.timer(number).async_wait(completion('h'));
            case 3: return static_cast<void>(objects_.timer(number).cancel());
            case 4: return static_cast<void>(objects_.timer(number).cancel_one());
            case 5: return objects_.removeTimer(number);
            case 6:
            case 7:
            case 8: return startRead(objects_.socket(number));
            case 9:
            case 10:
            case 11: return writeTo(objects_.socket(number));
            case 12: return objects_.socket(number).async_write_some(asio::buffer("xy", 1 + drawn(2)), completion('w'));
            case 13:
                return objects_.socket(number).async_wait(
                    drawn(2) == 0 ? Local::socket::wait_read : Local::socket::wait_write, completion('y'));
            case 14: return objects_.socket(number).cancel();
            case 15: return drawn(4) == 0 ? objects_.removeLink(number) : writeTo(objects_.socket(number));
        }
    }
    void startExpiredTimer() {
        asio::steady_timer& timer = objects_.timer(drawn(8));
        timer.expires_at(std::chrono::steady_clock::time_point(std::chrono::seconds(1 + drawn(3))));
        timer.async_wait(completion('x'));
        test::awaitExpiry(io_);
    }
    void startRead(Local::socket& socket) {
        const auto byte = std::make_shared<char>();
        socket.async_read_some(asio::buffer(byte.get(), 1),
                               [byte, done = completion('r')](error_code error, std::size_t) { done(error); });
    }
    static void writeTo(Local::socket& socket) {
        error_code ignored;  // a full buffer, or a closed peer
        socket.write_some(asio::buffer("x", 1), ignored);
    }

    test::AnyContext& context_;
    asio::io_context& io_;
    std::minstd_rand random_;
    Objects objects_;
    test::Trace trace_;
    unsigned left_ = 1000;         // operations
    unsigned withoutObjects_ = 0;  // the first ones use no I/O object
    unsigned started_ = 0;
    unsigned depth_ = 0;
};

TEST(RandomPrograms, CompleteInTheOrderOfAnIoContext) {
    std::vector<std::unique_ptr<test::LoopForContexts>> loops;
    for (const unsigned events : {1, 2, 3, 5, 8, 256}) loops.push_back(std::make_unique<test::LoopForContexts>(events));
    for (unsigned seed = 1; seed <= programs(); ++seed) {
        const auto program = [seed](test::AnyContext& context) { return RandomProgram(context, seed).play(); };
        ASSERT_TRUE(test::ordersAlike(loops[seed % loops.size()]->get(), program)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace weft::asio_io
