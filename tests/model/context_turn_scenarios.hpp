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
class ContextScenarios {
    using Built = ContextLoop<defect>;

  public:
    // Another thread releases the last work.
    static void release(ModelRun& run) {
        auto& loop = make(run, 0);
        loop.asio().workStarted();
        run.thread("owner", [&loop] { loop.asio().workFinished(); });
    }
    // A handler on a plain io_context executor.
    static void rawPost(ModelRun& run) {
        auto& loop = make(run, 1);
        loop.asio().workStarted();
        run.thread("poster", [&loop] {
            loop.awaitSleep();
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.asio().workFinished();
        });
    }
    // A function of the Context's executor.
    static void execute(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    // Two, one after the other: the second one's wake-up follows the first one's.
    static void executeTwice(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& functions = run.make<std::array<Posted, 2>>();
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.execute(functions[0]);
            loop.execute(functions[1]);
            loop.asio().workFinished();
        });
    }
    static void rawAndExecute(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("raw", [&loop] {
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.asio().workFinished();
        });
        run.thread("poster", [&] {
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    // A function submits another one in the loop, which Asio does not count.
    static void executeInside(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& functions = run.make<std::array<Posted, 2>>();
        functions[0].then = [&] { loop.executeHere(functions[1]); };
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.execute(functions[0]);
            loop.asio().workFinished();
        });
    }
    // A task of the loop, unrelated to Asio, ends the work.
    static void foreignTask(ModelRun& run) {
        auto& loop = make(run, 0);
        auto& task = run.make<Posted>();
        task.ofTheContext = false;
        task.then = [&loop] { loop.asio().workFinished(); };
        loop.asio().workStarted();
        run.thread("poster", [&] { loop.post(task); });
    }
    // The wake-up of a post may be in progress when that of the work arrives.
    static void publish(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.execute(function);
            loop.asio().workFinished();
        });
        run.thread("publisher", [&loop] { loop.publish(); });
    }
    // Asio checks for events again before there is something to call.
    static void edge(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        run.thread("kernel", [&loop] { loop.asio().edge(); });
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    // The handler of an event creates work for the loop's next turn.
    static void event(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& task = run.make<Posted>();
        task.ofTheContext = false;
        task.then = [&loop] { loop.asio().workFinished(); };
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("kernel", [&] {
            loop.asio().event([&] {
                loop.handlerRan();
                loop.later(task);
            });
        });
    }
    static void eventAndExecute(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("kernel", [&loop] { loop.asio().event([&loop] { loop.handlerRan(); }); });
        run.thread("poster", [&] {
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    static void stop(ModelRun& run) {
        auto& loop = make(run, 0);
        loop.asio().workStarted();
        run.thread("stopper", [&loop] { loop.asio().stop(); });
    }

  private:
    static Built& make(ModelRun& run, std::size_t functions) {
        auto& loop = run.make<Built>(functions);
        run.name({"work", "park", "stopRequested", "turnRequested", "readyPoller", "submitters", "carrierTray", "inbox",
                  "loopStop", "wakePost", "published"});
        run.thread("loop", [&loop] { loop.run(); });
        run.finally([&loop] { loop.checkAllRan(); });
        return loop;
    }
};

template <ContextDefect defect = ContextDefect::none>
std::vector<Case> contextCases() {
    using Built = ContextScenarios<defect>;
    return {makeCase("release", Built::release),
            makeCase("raw post", Built::rawPost),
            makeCase("execute", Built::execute),
            makeCase("execute twice", Built::executeTwice),
            makeCase("raw post and execute", Built::rawAndExecute),
            makeCase("execute inside", Built::executeInside),
            makeCase("foreign task", Built::foreignTask),
            makeCase("publish", Built::publish),
            makeCase("edge", Built::edge),
            makeCase("event", Built::event),
            makeCase("event and execute", Built::eventAndExecute),
            makeCase("stop", Built::stop)};
}

}  // namespace weft::model
