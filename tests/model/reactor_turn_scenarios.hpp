// Events around a Context's turn (docs/explanation/protocol.md section 15), caused by the users' threads, the kernel,
// and the loop itself.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "model_context.hpp"
#include "protocol_test.hpp"

namespace weft::model {

template <ContextDefect defect>
class ReactorScenarios {
    using Loop = ContextLoop<defect>;

  public:
    // Another thread releases the last work.
    static void release(ModelRun& run) {
        auto& loop = make(run, 0, 1);
        run.thread("owner", [&loop] { loop.workFinished(); });
    }
    // Another thread posts a handler to Asio, which the loop does not know of.
    static void handler(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        run.thread("poster", [&loop] {
            loop.awaitSleep();
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.workFinished();
        });
    }
    // A handler posts another one, and a task of the loop that ends the work.
    static void handlerPosts(ModelRun& run) {
        auto& loop = make(run, 2, 1);
        auto& task = endOfWork(run, loop);
        run.thread("poster", [&] {
            loop.asio().post([&] {
                loop.handlerRan();
                loop.asio().postHere([&loop] { loop.handlerRan(); });
                loop.later(task);
            });
        });
    }
    // A task of the loop ends the work.
    static void task(ModelRun& run) {
        auto& loop = make(run, 0, 1);
        auto& task = endOfWork(run, loop);
        run.thread("poster", [&] { loop.post(task); });
    }
    // Two, one after the other: the second one's wake-up follows the first one's.
    static void twoTasks(ModelRun& run) {
        auto& loop = make(run, 0, 2);
        auto& tasks = run.make<std::array<Posted, 2>>();
        for (Posted& task : tasks) task.then = [&loop] { loop.workFinished(); };
        run.thread("poster", [&] {
            loop.awaitSleep();
            for (Posted& task : tasks) loop.post(task);
        });
    }
    // A task of the loop posts a handler, outside of Asio's call.
    static void taskPosts(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        auto& task = run.make<Posted>();
        task.then = [&loop] {
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.workFinished();
        };
        run.thread("poster", [&] { loop.post(task); });
    }
    static void handlerAndTask(ModelRun& run) {
        auto& loop = make(run, 1, 2);
        auto& task = endOfWork(run, loop);
        run.thread("handler", [&loop] {
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.workFinished();
        });
        run.thread("poster", [&] { loop.post(task); });
    }
    // Work of the wrapped handler, without an event of the kernel.
    static void publish(ModelRun& run) {
        auto& loop = make(run, 0, 2);
        auto& task = endOfWork(run, loop);
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.post(task);
        });
        run.thread("publisher", [&loop] { loop.publish(); });
    }
    // The handler of an event creates work for the loop.
    static void event(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        loop.asio().workStarted();  // by the operation that waits for the event
        auto& task = endOfWork(run, loop);
        run.thread("kernel", [&] {
            loop.asio().epoll().event([&] {
                loop.handlerRan();
                loop.later(task);
            });
        });
    }
    static void eventAndTask(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        loop.asio().workStarted();  // by the operation that waits for the event
        auto& task = endOfWork(run, loop);
        run.thread("kernel", [&loop] { loop.asio().epoll().event([&loop] { loop.handlerRan(); }); });
        run.thread("poster", [&] { loop.post(task); });
    }
    // An event for which no operation waits ends a sleep.
    static void edge(ModelRun& run) {
        auto& loop = make(run, 0, 1);
        auto& task = endOfWork(run, loop);
        run.thread("kernel", [&loop] { loop.asio().epoll().event(nullptr); });
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.post(task);
        });
    }
    // A timer of the loop, which Asio does not know of, ends the work.
    static void timer(ModelRun& run) {
        auto& loop = make(run, 0, 1);
        run.thread("kernel", [&loop] { loop.timer(); });
    }
    // The first task's waker may interrupt after an event has ended the sleep. The event's handler posts another one,
    // so that Asio looks for events, which may consume the interrupt. Then the second task ends the next sleep.
    static void twoWakers(ModelRun& run) {
        auto& loop = make(run, 2, 1);
        loop.asio().workStarted();  // by the operation that waits for the event
        auto& tasks = run.make<std::array<Posted, 2>>();
        tasks[1].then = [&loop] { loop.workFinished(); };
        run.thread("kernel", [&loop] {
            loop.asio().epoll().event([&loop] {
                loop.handlerRan();
                loop.asio().postHere([&loop] { loop.handlerRan(); });
            });
        });
        run.thread("poster", [&] {
            loop.awaitSleep();
            for (Posted& task : tasks) loop.post(task);
        });
    }
    // A handler that posts itself until an event's handler has run: Asio is never idle.
    static void endlessHandler(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        loop.asio().workStarted();  // by the operation that waits for the event
        auto& ended = run.make<bool>(false);
        auto& again = run.make<AsioOperation>();
        again = [&] {
            yield();
            if (!ended) loop.asio().postHere([&again] { again(); });
        };
        run.thread("poster", [&] {
            loop.asio().post([&again] { again(); });
            endByEvent(loop, ended);
            loop.workFinished();
        });
    }
    // As endlessHandler(), with a task of the loop: no turn may sleep.
    static void endlessTask(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        loop.asio().workStarted();  // by the operation that waits for the event
        auto& ended = run.make<bool>(false);
        auto& task = run.make<Posted>();
        task.then = [&] {
            yield();
            ended ? loop.workFinished() : loop.later(task);
        };
        run.thread("poster", [&] {
            loop.post(task);
            endByEvent(loop, ended);
        });
    }
    static void stop(ModelRun& run) {
        auto& loop = make(run, 0, 1);
        run.thread("stopper", [&loop] { loop.stop(); });
    }
    // A handler stops the context: the one that it has posted does not run.
    static void stopInside(ModelRun& run) {
        auto& loop = make(run, 1, 1);
        run.thread("poster", [&loop] {
            loop.asio().post([&loop] {
                loop.handlerRan();
                loop.asio().postHere([&loop] { loop.handlerRan(); });
                loop.stop();
            });
        });
    }

  private:
    // `handlers` are to run before run() returns. `work`: units that the users finish.
    static Loop& make(ModelRun& run, std::size_t handlers, unsigned work) {
        auto& loop = run.make<Loop>(handlers, work);
        run.name({"work", "park", "stopRequested", "turnRequested", "readyPoller", "submitters", "carrierTray", "inbox",
                  "loopStop", "published"});
        run.thread("loop", [&loop] { loop.run(); });
        run.finally([&loop] { loop.checkAllRan(); });
        return loop;
    }
    static void endByEvent(Loop& loop, bool& ended) {
        loop.asio().epoll().event([&] {
            loop.handlerRan();
            ended = true;
        });
    }
    static Posted& endOfWork(ModelRun& run, Loop& loop) {
        auto& task = run.make<Posted>();
        task.then = [&loop] { loop.workFinished(); };
        return task;
    }
};

template <ContextDefect defect = ContextDefect::none>
std::vector<Case> reactorCases() {
    using Scenarios = ReactorScenarios<defect>;
    return {makeCase("release", Scenarios::release),
            makeCase("handler", Scenarios::handler),
            makeCase("handler posts", Scenarios::handlerPosts),
            makeCase("task", Scenarios::task),
            makeCase("two tasks", Scenarios::twoTasks),
            makeCase("task posts", Scenarios::taskPosts),
            makeCase("handler and task", Scenarios::handlerAndTask),
            makeCase("publish", Scenarios::publish),
            makeCase("event", Scenarios::event),
            makeCase("event and task", Scenarios::eventAndTask),
            makeCase("edge", Scenarios::edge),
            makeCase("timer", Scenarios::timer),
            makeCase("two wakers", Scenarios::twoWakers),
            makeCase("endless handler", Scenarios::endlessHandler),
            makeCase("endless task", Scenarios::endlessTask),
            makeCase("stop", Scenarios::stop),
            makeCase("stop inside", Scenarios::stopInside)};
}

}  // namespace weft::model
