// The scenarios that explore the queues of weft::sync (docs/explanation/protocol.md section 20), and those queues, of
// one place and of any number. Shared with the tests of what waits for several queues.
#pragma once

#include <cerrno>
#include <cstddef>
#include <optional>

#include <weft/scheduler/detail/basic_queue.hpp>
#include <weft/scheduler/detail/value_storage.hpp>
#include <weft/scheduler/errors.hpp>

#include "sync_world.hpp"

namespace weft::model::sync {

using detail::QueueStatus;

using Value = Plain<int>;
using One = detail::BasicQueue<Sync, Value, detail::OneStorage<Value>>;
using Two = detail::BasicQueue<Sync, Value, detail::FixedStorage<Value>>;

template <class Q>
struct QueueScenarios {
    static ErrorCode send(Q& queue, int what, Timeout until = Timeout::never) {
        Value value(what);
        switch (queue.trySend(value)) {
            case QueueStatus::done: return {};
            case QueueStatus::closed: return fromErrno(EPIPE);
            case QueueStatus::wouldWait: return queue.sendSlow(value, until, "send");
        }
        return {};
    }
    // 0: nothing was received, because the queue is closed or the wait timed out.
    static int receive(Q& queue, Timeout until = Timeout::never) {
        std::optional<Value> value;
        if (queue.tryReceive(value) == QueueStatus::wouldWait) (void)queue.receiveSlow(value, until, "receive");
        return value ? value->get() : 0;
    }

    // Two values through one place.
    static void passes(ModelRun& run) {
        auto& world = makeWorld<Q, 2>(run);
        run.thread("sends", [&world] {
            Q& queue = world.enter(0);
            world.data = 1;
            (void)send(queue, 1);
            (void)send(queue, 2);
        });
        run.thread("receives", [&world] {
            Q& queue = world.enter(1);
            assertThat(receive(queue) == 1, "the first value");
            assertThat(world.data == 1, "what the sender wrote before");
            assertThat(receive(queue) == 2, "the second value");
        });
    }
    // Two senders, of which one may give up, and a receiver of two values or of what is left.
    static Scenario twoSend(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<Q, 3>(run);
            auto& sum = run.make<int>(0);
            for (const std::size_t i : {0u, 1u}) {
                run.thread(i == 0 ? "sender1" : "sender2", [&world, &sum, i, mayGiveUp] {
                    const bool limited = i == 0 && mayGiveUp;
                    if (!send(world.enter(i), static_cast<int>(i + 1), limited ? Timeout::possible : Timeout::never)) {
                        sum += static_cast<int>(i + 1);
                    }
                });
            }
            run.thread("receives", [&world, &sum, mayGiveUp] {
                Q& queue = world.enter(2);
                sum -= receive(queue);
                if (!mayGiveUp) sum -= receive(queue);
            });
            run.finally([&world, &sum] {
                std::optional<Value> left;
                (void)world.object.tryReceive(left);
                if (left) sum -= left->get();
                assertThat(sum == 0, "what was sent was received or is in the queue, once");
            });
        };
    }
    // A receiver that may give up, another one, and one value for each.
    static void oneReceiverGivesUp(ModelRun& run) {
        auto& world = makeWorld<Q, 3>(run);
        auto& sum = run.make<int>(0);
        run.thread("limited", [&world, &sum] { sum += receive(world.enter(0), Timeout::possible); });
        run.thread("waits", [&world, &sum] {
            const int value = receive(world.enter(1));
            assertThat(value != 0, "it does not give up");
            sum += value;
        });
        run.thread("sends", [&world] {
            Q& queue = world.enter(2);
            (void)send(queue, 1);
            (void)send(queue, 2);
        });
        run.finally([&world, &sum] {
            std::optional<Value> left;
            (void)world.object.tryReceive(left);
            assertThat(sum + (left ? left->get() : 0) == 3, "each value once");
        });
    }
    // A close races with two sends, of which the second may wait, and a receiver of everything.
    static void closes(ModelRun& run) {
        auto& world = makeWorld<Q, 2>(run);
        auto& sum = run.make<int>(0);
        run.thread("sends", [&world, &sum] {
            Q& queue = world.enter(0);
            for (const int value : {1, 2}) {
                if (!send(queue, value)) sum += value;
            }
        });
        run.thread("receives", [&world, &sum] {
            Q& queue = world.enter(1);
            while (const int value = receive(queue)) sum -= value;
        });
        run.thread("closes", [&world] { assertThat(world.object.close(), "the first close"); });
        run.finally([&sum] { assertThat(sum == 0, "what was sent before the close was received"); });
    }
    // The receiver of the last value destroys the queue.
    static Scenario destroyed(bool givesUpFirst) {
        return [=](ModelRun& run) {
            struct State {
                Q queue;
                Plain<int> data{0};
            };
            auto& state = run.make<State>();
            auto& task = run.make<ThreadTask>();
            run.thread("sends", [&state] {
                state.data = 1;
                Value value(5);
                assertThat(state.queue.trySendLast(value) == QueueStatus::done, "the first value");
            });
            run.thread("receives", [&state, &task, givesUpFirst] {
                ThreadWait::use(task);
                int value = givesUpFirst ? receive(state.queue, Timeout::possible) : 0;
                if (value == 0) value = receive(state.queue);
                assertThat(value == 5 && state.data == 1, "the value, and what was written before");
                destroy(state);
            });
        };
    }
};

}  // namespace weft::model::sync
