// ThreadWait: what Suspension is to a plain thread, for the shipped wait list: one wait of the calling model thread, on
// its ThreadTask.
#pragma once

#include <weft/scheduler/task.hpp>

#include "thread_task.hpp"

namespace weft::model {

class ThreadWait {
  public:
    // As WakeKey. Its data detects a read of the key after the wait has ended.
    struct Key {
        Plain<ThreadTask*> task;
        Plain<Epoch> epoch;
        Plain<Branch> branch;
        bool wake() const { return task.get()->wake(epoch, branch); }
        detail::Claim claim() const { return task.get()->token.claim(epoch, branch); }
        void enqueue() const { task.get()->enqueue(); }
    };

    // Every waiting thread first declares which task it waits on.
    static void use(ThreadTask& task) { tasks()[Execution::current().self()] = &task; }

    explicit ThreadWait(const char*) : task_(*tasks()[Execution::current().self()]), epoch_(task_.prepare()) {}
    ThreadWait(const ThreadWait&) = delete;
    ThreadWait& operator=(const ThreadWait&) = delete;
    ~ThreadWait() {
        if (!parked_ && !task_.token.abort(epoch_)) task_.token.finish();
    }

    Key key(WakeReason branch = WakeReason::resource) const { return {&task_, epoch_, branchOf(branch)}; }

    WakeReason park(Timeout limit) {
        parked_ = true;
        const Branch branch = task_.park(epoch_, limit);
        return branch == ThreadTask::timeout ? WakeReason::timeout : static_cast<WakeReason>(branch - branchOf({}));
    }

    WakeReason parkUninterruptibly() { return park(Timeout::never); }

  private:
    // ThreadTask has two branches of its own.
    static Branch branchOf(WakeReason reason) {
        return static_cast<Branch>(ThreadTask::timeout + 1 + static_cast<unsigned>(reason));
    }
    static std::array<ThreadTask*, maxThreads>& tasks() {
        static std::array<ThreadTask*, maxThreads> all{};
        return all;
    }

    ThreadTask& task_;
    const Epoch epoch_;
    bool parked_ = false;
};

}  // namespace weft::model
