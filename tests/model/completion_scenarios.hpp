// The scenarios that explore completion (docs/explanation/protocol.md section 10), for the shipped core and for its
// twins: a promise completes while other threads wait for it, listen to it and release it. Driven as future.hpp and
// promise_state.cpp do.
#pragma once

#include <weft/scheduler/detail/completion.hpp>
#include <weft/scheduler/detail/in_tray.hpp>
#include <weft/scheduler/detail/reference_count.hpp>
#include <weft/scheduler/wait_list.hpp>

#include <functional>

#include "protocol_test.hpp"
#include "thread_wait.hpp"

namespace weft::model::completion {

using weft::detail::EndDuty;

enum class Status : std::uint8_t { pending, uncancellable, done, cancelled };

// A listener's call, and records of it for the checks.
struct Call {
    Plain<int>* value = nullptr;
    Plain<int>* inside = nullptr;         // written while it runs: two calls at once race
    int* order = nullptr;                 // how many have been called
    int called = 0;                       // the position of this call among them
    std::function<void()> dropReference;  // of the reference that the listener holds, if it does

    void run() {
        assertThat(value->get() != 0, "a listener sees the value");
        if (inside != nullptr) *inside = 1;
        assertThat(called == 0, "a listener is called once");
        called = ++*order;
    }
};

class Listener {
  public:
    Listener() = default;
    explicit Listener(Call& call) : call_(&call) {}
    Listener(Listener&& other) : call_(other.call_.get()) { other.call_ = nullptr; }
    Listener& operator=(Listener&& other) {
        call_ = other.call_.get();
        other.call_ = nullptr;
        return *this;
    }
    explicit operator bool() const { return call_.get() != nullptr; }
    void operator()() { call_->run(); }
    void reset() {
        Call* call = call_;
        call_ = nullptr;
        if (call->dropReference) call->dropReference();
    }

  private:
    Plain<Call*> call_{nullptr};
};

using WaitList = BasicWaitList<ThreadWait>;
using Shipped = detail::BasicOrderedCompletion<Atomics, Status::done, Listener, WaitList>;
using ShippedCount = detail::BasicReferenceCount<Atomics>;

// FutureState and PromiseState.
template <class Completion, class Count>
class Shared {
  public:
    Count references;
    Completion completion;
    Plain<int> value{0};

    // FutureState::complete()
    bool complete(int what) {
        typename Completion::Listeners listeners;
        const EndDuty duty = completion.end(
            Status::done, [](Status) { return true; }, [&] { value = what; },
            [&](auto& those) { listeners.takeFrom(those); });
        listeners.callAll([](Listener& listener) { listener(); });
        return duty != EndDuty::refused;
    }
    // Future::addListener(): the listener holds a future.
    void listen(Call& call) {
        references.retain();
        call.dropReference = [this] { dropReference(); };
        Listener listener(call);
        if (completion.listen(listener)) return;
        listener();
        listener.reset();
    }

    // PromiseState::finish(); `notify` makes a thread call tell().
    template <class Notify>
    bool finish(Status outcome, int what, Notify notify) {
        const EndDuty duty = completion.end(
            outcome, [&](Status now) { return outcome != Status::cancelled || now != Status::uncancellable; },
            [&] { value = what; }, [](auto&) {});
        if (duty == EndDuty::callListeners) notify();
        return duty != EndDuty::refused;
    }
    // PromiseState::listen()
    template <class Notify>
    void append(Call& call, Notify notify) {
        if (completion.append(Listener(call))) notify();
    }
    // PromiseState::runListeners()
    void tell() {
        typename Completion::Listeners listeners;
        if (!completion.beginNotifying(listeners)) return;
        references.retain();
        do {
            listeners.callAll([](Listener& listener) { listener(); });
        } while (completion.keepNotifying(listeners));
        dropReference();
    }

    bool awaits(ThreadTask& task, Timeout limit) {
        ThreadWait::use(task);
        const bool ended = !completion.wait(limit, "await");
        if (ended) assertThat(value != 0, "who has waited sees the value");
        return ended;
    }
    void dropReference() {
        if (references.release()) destroy(*this);
    }
};

template <class Completion, class Count>
struct Scenarios {
    using State = Shared<Completion, Count>;

    // The promise and its two futures belong to three threads; the last release frees what they share.
    static Scenario awaits(Timeout first) {
        return [=](ModelRun& run) {
            State& state = make(run, 3);
            auto& tasks = run.make<std::array<ThreadTask, 2>>();
            run.thread("completer", [&state] {
                assertThat(state.complete(1), "the only one");
                state.dropReference();
            });
            run.thread("awaiter1", [&state, &tasks, first] {
                (void)state.awaits(tasks[0], first);
                destroy(tasks[0]);
                state.dropReference();
            });
            run.thread("awaiter2", [&state, &tasks] {
                assertThat(state.awaits(tasks[1], Timeout::never), "it has not given up");
                state.dropReference();
            });
        };
    }
    // Both sides belong to the thread that waits, or checks first: once it knows of the completion, it may release
    // them.
    static Scenario borrowed(bool looksFirst) {
        return [=](ModelRun& run) {
            State& state = make(run, 1);
            auto& calls = makeCalls<1>(run, state);
            auto& task = run.make<ThreadTask>();
            run.thread("completer", [&state] { state.complete(1); });
            run.thread("owner", [&state, &calls, &task, looksFirst] {
                state.listen(calls[0]);
                if (!looksFirst || !state.completion.settled()) (void)state.awaits(task, Timeout::never);
                state.dropReference();
            });
        };
    }
    // A thread checks the status without a lock.
    static void looks(ModelRun& run) {
        State& state = make(run, 2);
        run.thread("completer", [&state] {
            state.complete(1);
            state.dropReference();
        });
        run.thread("observer", [&state] {
            await([&state] { return Completion::isFinal(state.completion.status()); });
            assertThat(state.value == 1, "the value comes before the status");
            state.dropReference();
        });
    }
    // Two threads try to complete it and one waits: the value is the winner's.
    static void twoEnd(ModelRun& run) {
        struct Notes {
            bool wins[2] = {};
            int seen = 0;
        };
        State& state = make(run, 3);
        auto& notes = run.make<Notes>();
        auto& task = run.make<ThreadTask>();
        for (const int who : {0, 1}) {
            run.thread(who == 0 ? "succeeds" : "fails", [&state, &notes, who] {
                notes.wins[who] = state.complete(who + 1);
                state.dropReference();
            });
        }
        run.thread("awaiter", [&state, &notes, &task] {
            (void)state.awaits(task, Timeout::never);
            notes.seen = state.value;
            state.dropReference();
        });
        run.finally([&notes] {
            assertThat(notes.wins[0] != notes.wins[1], "one ends it");
            assertThat(notes.seen == (notes.wins[0] ? 1 : 2), "the winner's value");
        });
    }
    // Listeners from two threads: each is called once.
    static void listens(ModelRun& run) {
        State& state = make(run, 3);
        auto& calls = makeCalls<3>(run, state);
        run.thread("completer", [&state] {
            state.complete(1);
            state.dropReference();
        });
        run.thread("listener1", [&state, &calls] {
            state.listen(calls[0]);
            state.listen(calls[1]);
            state.dropReference();
        });
        run.thread("listener2", [&state, &calls] {
            state.listen(calls[2]);
            state.dropReference();
        });
    }
    // The same in one order and one at a time; any thread may notify.
    static void ordered(ModelRun& run) {
        State& state = make(run, 3);
        auto& calls = makeCalls<3>(run, state, true);
        const auto tell = [&state] { state.tell(); };
        run.thread("completer", [&state, tell] {
            state.finish(Status::done, 1, tell);
            state.dropReference();
        });
        run.thread("listener1", [&state, &calls, tell] {
            state.append(calls[0], tell);
            state.append(calls[1], tell);
            state.dropReference();
        });
        run.thread("listener2", [&state, &calls, tell] {
            state.append(calls[2], tell);
            state.dropReference();
        });
        run.finally([&calls] { assertThat(calls[0].called < calls[1].called, "in the order in which they came"); });
    }
    // Only the loop notifies; the other threads post. A listener that the loop adds to a completed promise is called at
    // once.
    static void inTheLoop(ModelRun& run) {
        struct Node {
            Link<Node> next;
        };
        struct Loop {
            detail::BasicInTray<Atomics, Node> tray;
            std::array<Node, 2> posts;
        };
        State& state = make(run, 3);
        auto& calls = makeCalls<2>(run, state, true);
        auto& loop = run.make<Loop>();
        run.name({"references", "status", "tray"});
        run.thread("completer", [&state, &loop] {
            state.finish(Status::done, 1, [&loop] { (void)loop.tray.push(loop.posts[0]); });
            state.dropReference();
        });
        run.thread("listener", [&state, &calls, &loop] {
            state.append(calls[0], [&loop] { (void)loop.tray.push(loop.posts[1]); });
            state.dropReference();
        });
        run.thread("loop", [&state, &calls, &loop] {
            const bool ended = Completion::isFinal(state.completion.status());
            state.append(calls[1], [&state] { state.tell(); });
            assertThat(!ended || calls[1].called != 0, "called before addListener() returns");
            while (calls[0].called == 0 || calls[1].called == 0) {
                await([&loop] { return !loop.tray.empty(); });
                (void)loop.tray.takeAll();
                state.tell();
            }
            state.dropReference();
        });
    }
    // The point of no return races with a cancellation: one of them wins, and the winner then succeeds.
    static void cancels(ModelRun& run) {
        struct Answers {
            bool mayGoOn = false;
            bool cancelled = false;
            bool succeeded = false;
        };
        State& state = make(run, 2);
        auto& answers = run.make<Answers>();
        run.thread("operation", [&state, &answers] {
            answers.mayGoOn = state.completion.advance(Status::pending, Status::uncancellable) != Status::cancelled;
            answers.succeeded = state.finish(Status::done, 1, [] {});
            state.dropReference();
        });
        run.thread("canceller", [&state, &answers] {
            answers.cancelled = state.finish(Status::cancelled, 2, [] {});
            state.dropReference();
        });
        run.finally([&answers] {
            assertThat(answers.mayGoOn != answers.cancelled, "cancelled or past the point of no return");
            assertThat(answers.succeeded == answers.mayGoOn, "what may go on succeeds");
        });
    }

  private:
    static State& make(ModelRun& run, int references) {
        auto& state = run.make<State>();
        run.name({"references", "status", "token1", "runnable1", "token2", "runnable2"});
        for (int i = 1; i < references; ++i) state.references.retain();
        return state;
    }
    template <std::size_t count>
    static auto& makeCalls(ModelRun& run, State& state, bool oneAtATime = false) {
        struct Calls {
            std::array<Call, count> all;
            Plain<int> inside{0};
            int order = 0;
            Call& operator[](std::size_t i) { return all[i]; }
        };
        auto& calls = run.make<Calls>();
        for (Call& call : calls.all) {
            call.value = &state.value;
            call.order = &calls.order;
            if (oneAtATime) call.inside = &calls.inside;
        }
        run.finally([&calls] {
            for (const Call& call : calls.all) assertThat(call.called != 0, "no listener is forgotten");
        });
        return calls;
    }
};

template <class Completion = Shipped, class Count = ShippedCount>
std::vector<Case> cases() {
    using Built = Scenarios<Completion, Count>;
    return {makeCase("looks", Built::looks),
            makeCase("cancels", Built::cancels),
            makeCase("borrowed", Built::borrowed(false)),
            makeCase("borrowed, looks", Built::borrowed(true)),
            makeCase("ordered", Built::ordered),
            makeCase("in the loop", Built::inTheLoop),
            makeCase("listens", Built::listens),
            makeCase("two end it", Built::twoEnd),
            makeCase("awaits", Built::awaits(Timeout::never)),
            makeCase("awaits, timeout", Built::awaits(Timeout::possible))};
}

}  // namespace weft::model::completion
