// What the scenarios of weft::sync share: NativeSync of the model, which unlocks are fair, and the object with its
// threads (docs/explanation/protocol.md section 19).
#pragma once

#include "protocol_test.hpp"
#include "thread_wait.hpp"

namespace weft::model::sync {

// NativeSync of the model. The lock of every queue is one mutex, which outlives the objects.
struct Sync : Atomics {
    using Wait = ThreadWait;
    using Until = Timeout;
    using ShortLock = Mutex;
    struct Pause {  // lets the thread that is waited for take a step
        void operator()() const { yield(); }
    };
    class QueueLock {
      public:
        explicit QueueLock(const void*) : mutex_(*ofRun()) { mutex_.lock(); }
        ~QueueLock() { mutex_.unlock(); }
        QueueLock(const QueueLock&) = delete;
        QueueLock& operator=(const QueueLock&) = delete;

        static Mutex*& ofRun() {
            static Mutex* mutex = nullptr;
            return mutex;
        }

      private:
        Mutex& mutex_;
    };
};

// Which unlocks hand the mutex over.
struct NeverFair {
    struct Stamp {};
    static Stamp now() { return {}; }
    static bool handsOver(Stamp) { return false; }
};
struct AlwaysFair : NeverFair {
    static bool handsOver(Stamp) { return true; }
};
// Each waiter whose number is odd; the first has 0.
struct SometimesFair {
    using Stamp = unsigned;
    static unsigned& count() {
        static unsigned number = 0;
        return number;
    }
    static Stamp now() { return count()++; }
    static bool handsOver(Stamp stamp) { return stamp % 2 == 1; }
};

template <class Object, std::size_t threads>
struct World {
    template <class... Args>
    explicit World(Args... args) : object(args...) {}
    std::array<ThreadTask, threads> tasks;
    Object object;
    Plain<int> data{0};
    int inside = 0;  // for the checks

    // Context: the first statement of a thread that waits.
    Object& enter(std::size_t thread) {
        ThreadWait::use(tasks[thread]);
        return object;
    }
};

template <class Object, std::size_t threads, class... Args>
World<Object, threads>& makeWorld(ModelRun& run, Args... args) {
    Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
    SometimesFair::count() = 0;
    return run.make<World<Object, threads>>(args...);
}

}  // namespace weft::model::sync
