// Each pair of sources of completions, started in both orders and in several places, completes on a Context in the
// order of an io_context. The order of io_context itself is asserted first, in each case.
#include <cstddef>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "asio/completion_sources.hpp"
#include "asio/order_kit.hpp"
#include "support/sanitized.hpp"

namespace weft::asio_io::order {
namespace {

// Where the two sources are started.
enum class Place { beforeRun, betweenRuns, posted, postedByPosted, timer, readySocket, coroutine };

struct Case {
    Place place;
    bool objectBefore;  // whether an I/O object exists before: only then has the reactor a turn in Asio's queue
};

std::string nameOf(const ::testing::TestParamInfo<Case>& info) {
    constexpr const char* places[] = {"BeforeRun",         "BetweenRuns",
                                      "InAPostedFunction", "InAFunctionPostedByOne",
                                      "InATimersHandler",  "InAReadySocketsHandler",
                                      "InACoroutine"};
    return std::string(places[static_cast<int>(info.param.place)]) + (info.param.objectBefore ? "" : "WithoutObjects");
}

// Starts `block` in the place and runs until no work is left. Returns the number of handlers.
template <class Block>
std::size_t startIn(Place place, test::AnyContext& context, Scene& scene, Block block) {
    asio::io_context& io = context.io();
    switch (place) {
        case Place::beforeRun: block(); break;
        case Place::betweenRuns: {
            const auto work = asio::make_work_guard(io);
            asio::post(io, scene.completion("first"));
            context.poll();
            block();
            break;
        }
        case Place::posted: asio::post(io, block); break;
        case Place::postedByPosted:
            asio::post(io, [&io, &scene, block] {
                asio::post(io, scene.completion("x"));
                asio::post(io, [&io, &scene, block] {
                    asio::post(io, scene.completion("y"));
                    asio::post(io, block);
                });
                asio::post(io, scene.completion("z"));
            });
            break;
        case Place::timer: {
            auto& timer = scene.make<asio::steady_timer>(io, longAgo);
            timer.async_wait([block](error_code) { block(); });
            test::awaitExpiry(io);
            break;
        }
        case Place::readySocket: {
            auto& pair = scene.make<LocalPair>(io);
            pair.socket.async_read_some(asio::buffer(pair.bytes, 1), [block](error_code, std::size_t) { block(); });
            pair.sendByte();
            break;
        }
        case Place::coroutine:
            asio::co_spawn(
                io,
                [block]() -> asio::awaitable<void> {
                    block();
                    co_return;
                },
                asio::detached);
    }
    return context.run();
}

test::Program pairOf(const Source& first, const Source& second, Case where) {
    return [&first, &second, where](test::AnyContext& context) {
        Scene scene(context.io());
        if (where.objectBefore) scene.make<LocalPair>(context.io());
        const std::size_t ran = startIn(where.place, context, scene, [&] {
            scene.trace.emplace_back("{");
            first.start(scene, "a");
            second.start(scene, "b");
            scene.trace.emplace_back("}");
        });
        scene.trace.push_back(std::to_string(ran));
        return std::move(scene.trace);
    };
}

#ifdef WEFT_SANITIZED
constexpr std::size_t share = 11;  // of the pairs one in so many
#else
constexpr std::size_t share = 1;
#endif

class CompletionOrderOfPairs : public ::testing::TestWithParam<Case> {};

TEST_P(CompletionOrderOfPairs, IsThatOfAnIoContext) {
    test::LoopForContexts loop;
    std::size_t number = 0;
    for (const Source& first : sources) {
        for (const Source& second : sources) {
            if (number++ % share != 0) continue;
            EXPECT_TRUE(test::ordersAlike(loop.get(), pairOf(first, second, GetParam())))
                << "a: " << first.name << "; b: " << second.name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Places, CompletionOrderOfPairs,
                         ::testing::Values(Case{Place::beforeRun, true}, Case{Place::beforeRun, false},
                                           Case{Place::betweenRuns, true}, Case{Place::betweenRuns, false},
                                           Case{Place::posted, true}, Case{Place::posted, false},
                                           Case{Place::postedByPosted, true}, Case{Place::postedByPosted, false},
                                           Case{Place::timer, true}, Case{Place::readySocket, true},
                                           Case{Place::coroutine, true}, Case{Place::coroutine, false}),
                         nameOf);

}  // namespace
}  // namespace weft::asio_io::order
