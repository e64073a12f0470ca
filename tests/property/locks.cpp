// Mutex with Condition, FairMutex, RwLock and Semaphore as things.
#include <mutex>
#include <utility>

#include <weft/scheduler/sync/condition.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/rw_lock.hpp>
#include <weft/scheduler/sync/semaphore.hpp>

#include "property/actor.hpp"
#include "property/lock_models.hpp"
#include "property/thing.hpp"
#include "property/waiting.hpp"

namespace weft::property {

namespace {

template <class Mutex>
ErrorCode lockIt(Mutex& mutex, const Operation& operation, Deadline deadline) {
    return waitFor(
        operation,
        [&](ErrorCode& error) { deadline == never ? mutex.lock(error) : void(mutex.try_lock_until(deadline, error)); },
        [&] {
            if (deadline == never) return mutex.lock();
            throwUnless(mutex.try_lock_until(deadline));
        });
}

class Monitor final : public Thing {
  public:
    using Thing::Thing;
    std::unique_ptr<Model> model() const override { return std::make_unique<MonitorModel>(); }
    bool isMutex() const noexcept override { return true; }

    void use(Actor& actor, const Operation& operation) override {
        const unsigned choice = operation.choice;
        if (actor.held(*this) != 0) {
            if (choice < 3) return notify(actor, operation);
            return choice < 6 ? wait(actor, operation) : leave(actor);
        }
        choice == 0 ? tryLock(actor) : lock(actor, operation);
        if (choice < 4 || actor.held(*this) == 0) return;
        if (choice < 8) return wait(actor, operation);
        notify(actor, operation);
        leave(actor);
    }
    void leave(Actor& actor) override {
        if (actor.held(*this) == 0) return;
        actor.held(*this) = 0;
        Call& call = actor.begin(*this, Verb::unlock);
        mutex_.unlock();
        actor.end(call, Outcome::done);
    }
    void finish(Actor& actor) override {
        if (mutex_.waiters() + condition_.waiters() != 0) actor.world().fault("a Mutex or Condition has waiters");
        tryLock(actor);
        leave(actor);
    }

  private:
    void tryLock(Actor& actor) {
        Call& call = actor.begin(*this, Verb::tryLock);
        actor.held(*this) = mutex_.try_lock();
        actor.end(call, actor.held(*this) != 0 ? Outcome::done : Outcome::refused);
    }
    void lock(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, Verb::lock);
        if (operation.choice == 1 && actor.mayInsistOn(*this)) {
            mutex_.lockUninterruptibly();
            actor.held(*this) = 1;
            return actor.end(call, Outcome::done);
        }
        const Deadline deadline = actor.queue(call, operation);
        call.queues = false;  // others may overtake it
        const ErrorCode error = lockIt(mutex_, operation, deadline);
        actor.held(*this) = !error;
        actor.end(call, error, deadline);
    }
    void notify(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, operation.throws ? Verb::notifyAll : Verb::notifyOne);
        operation.throws ? condition_.notifyAll() : condition_.notifyOne();
        actor.end(call, Outcome::done);
    }
    void wait(Actor& actor, const Operation& operation) {
        if (!actor.mayInsistOn(*this)) return;
        std::unique_lock lock(mutex_, std::adopt_lock);
        Call& call = actor.begin(*this, Verb::wait);
        call.relocks = true;
        const Deadline deadline = actor.queue(call, operation);
        const ErrorCode error = waitFor(
            operation,
            [&](ErrorCode& result) {
                if (deadline == never) return condition_.wait(lock, result);
                throwUnless(condition_.waitUntil(lock, deadline));
            },
            [&] {
                if (deadline == never) return condition_.wait(lock);
                throwUnless(condition_.waitUntil(lock, deadline));
            });
        if (!lock.owns_lock()) actor.world().fault("a Condition returned without the lock");
        lock.release();
        actor.end(call, error, deadline);
    }

    sync::Mutex mutex_;
    sync::Condition condition_;
};

class Fair final : public Thing {
  public:
    using Thing::Thing;
    std::unique_ptr<Model> model() const override { return std::make_unique<PermitsModel>(1); }
    bool isMutex() const noexcept override { return true; }

    void use(Actor& actor, const Operation& operation) override {
        if (actor.held(*this) != 0) return leave(actor);
        operation.choice % 4 == 0 ? tryLock(actor) : lock(actor, operation);
    }
    void leave(Actor& actor) override {
        if (actor.held(*this) == 0) return;
        actor.held(*this) = 0;
        Call& call = actor.begin(*this, Verb::release, 1);
        mutex_.unlock();
        actor.end(call, Outcome::done);
    }
    void finish(Actor& actor) override {
        if (mutex_.waiters() != 0) actor.world().fault("a FairMutex has waiters");
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, !mutex_.isLocked());
    }

  private:
    void tryLock(Actor& actor) {
        Call& call = actor.begin(*this, Verb::tryAcquire, 1);
        actor.held(*this) = mutex_.try_lock();
        actor.end(call, actor.held(*this) != 0 ? Outcome::done : Outcome::refused);
    }
    void lock(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, Verb::acquire, 1);
        const Deadline deadline = actor.queue(call, operation);
        if (operation.choice == 1 && actor.mayInsistOn(*this)) {
            mutex_.lockUninterruptibly();
            actor.held(*this) = 1;
            return actor.end(call, Outcome::done);
        }
        const ErrorCode error = lockIt(mutex_, operation, deadline);
        actor.held(*this) = !error;
        actor.end(call, error, deadline);
    }

    sync::FairMutex mutex_;
};

// held(): the permits.
class ReadWrite final : public Thing {
  public:
    using Thing::Thing;
    std::unique_ptr<Model> model() const override { return std::make_unique<PermitsModel>(all); }

    void use(Actor& actor, const Operation& operation) override {
        const long held = actor.held(*this);
        if (held == all && operation.choice % 3 == 0) return downgrade(actor);
        if (held != 0) return leave(actor);
        const bool writes = operation.choice % 2 == 0;
        operation.choice % 3 == 0 ? tryLock(actor, writes) : lock(actor, operation, writes);
    }
    void leave(Actor& actor) override {
        const long held = std::exchange(actor.held(*this), 0);
        if (held == 0) return;
        Call& call = actor.begin(*this, Verb::release, held);
        held == all ? lock_.unlock() : lock_.unlock_shared();
        actor.end(call, Outcome::done);
    }
    void finish(Actor& actor) override {
        if (lock_.waiters() + lock_.readers() != 0) actor.world().fault("a RwLock has waiters or readers");
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, lock_.isWriteLocked() ? 0 : all);
    }

  private:
    static constexpr long all = 1'000'000;

    void downgrade(Actor& actor) {
        actor.held(*this) = 1;
        Call& call = actor.begin(*this, Verb::release, all - 1);
        lock_.downgrade();
        actor.end(call, Outcome::done);
    }
    void tryLock(Actor& actor, bool writes) {
        const long wanted = writes ? all : 1;
        Call& call = actor.begin(*this, Verb::tryAcquire, wanted);
        const bool locked = writes ? lock_.try_lock() : lock_.try_lock_shared();
        if (locked) actor.held(*this) = wanted;
        actor.end(call, locked ? Outcome::done : Outcome::refused);
    }
    void lock(Actor& actor, const Operation& operation, bool writes) {
        const long wanted = writes ? all : 1;
        Call& call = actor.begin(*this, Verb::acquire, wanted);
        const Deadline deadline = actor.queue(call, operation);
        const ErrorCode error = writes ? lockIt(lock_, operation, deadline) : share(operation, deadline);
        if (!error) actor.held(*this) = wanted;
        actor.end(call, error, deadline);
    }
    ErrorCode share(const Operation& operation, Deadline deadline) {
        return waitFor(
            operation,
            [&](ErrorCode& error) {
                deadline == never ? lock_.lock_shared(error) : void(lock_.try_lock_shared_until(deadline, error));
            },
            [&] {
                if (deadline == never) return lock_.lock_shared();
                throwUnless(lock_.try_lock_shared_until(deadline));
            });
    }

    sync::RwLock lock_;
};

// held(): the permits.
class Permits final : public Thing {
  public:
    Permits(int number, unsigned permits) : Thing(number), permits_(permits), semaphore_(permits) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<PermitsModel>(permits_); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0:
            case 1: return tryAcquire(actor, operation.amount);
            case 2: return forget(actor, operation.amount);
            case 3:
                if (operation.amount == 1) return close(actor);
                [[fallthrough]];
            case 4:
            case 5:
            case 6:
            case 7: return release(actor, 1);
            default: return acquire(actor, operation);
        }
    }
    void leave(Actor& actor) override { release(actor, actor.held(*this)); }
    void finish(Actor& actor) override {
        if (semaphore_.waiters() != 0) actor.world().fault("a Semaphore has waiters");
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, semaphore_.permits());
    }

  private:
    void tryAcquire(Actor& actor, unsigned count) {
        Call& call = actor.begin(*this, Verb::tryAcquire, count);
        const bool acquired = semaphore_.tryAcquire(count);
        if (acquired) actor.held(*this) += count;
        actor.end(call, acquired ? Outcome::done : Outcome::refused);
    }
    void acquire(Actor& actor, const Operation& operation) {
        const unsigned count = operation.amount;
        Call& call = actor.begin(*this, Verb::acquire, count);
        const Deadline deadline = actor.queue(call, operation);
        const ErrorCode error = waitFor(
            operation,
            [&](ErrorCode& result) {
                deadline == never ? semaphore_.acquire(count, result)
                                  : void(semaphore_.acquireUntil(deadline, count, result));
            },
            [&] {
                if (deadline == never) return semaphore_.acquire(count);
                throwUnless(semaphore_.acquireUntil(deadline, count));
            });
        if (!error) actor.held(*this) += count;
        actor.end(call, error, deadline);
    }
    void release(Actor& actor, long count) {
        if (count == 0 || actor.held(*this) < count) return;
        actor.held(*this) -= count;
        Call& call = actor.begin(*this, Verb::release, count);
        semaphore_.release(static_cast<std::uint32_t>(count));
        actor.end(call, Outcome::done);
    }
    void forget(Actor& actor, unsigned count) {
        Call& call = actor.begin(*this, Verb::forget, count);
        actor.end(call, Outcome::done, semaphore_.forget(count));
    }
    void close(Actor& actor) {
        Call& call = actor.begin(*this, Verb::close);
        actor.end(call, Outcome::done, semaphore_.close());
    }

    const unsigned permits_;
    sync::Semaphore semaphore_;
};

}  // namespace

std::unique_ptr<Thing> makeLock(const Object& object, int number) {
    switch (object.kind) {
        case Kind::mutex: return std::make_unique<Monitor>(number);
        case Kind::fairMutex: return std::make_unique<Fair>(number);
        case Kind::rwLock: return std::make_unique<ReadWrite>(number);
        case Kind::semaphore: return std::make_unique<Permits>(number, object.amount);
        default: return nullptr;
    }
}

}  // namespace weft::property
