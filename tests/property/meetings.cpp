// Notify, Barrier, WaitGroup and OnceCell as things.
#include <weft/scheduler/sync/barrier.hpp>
#include <weft/scheduler/sync/notify.hpp>
#include <weft/scheduler/sync/once_cell.hpp>
#include <weft/scheduler/sync/wait_group.hpp>

#include "property/actor.hpp"
#include "property/choices.hpp"
#include "property/lock_models.hpp"
#include "property/thing.hpp"
#include "property/waiting.hpp"

namespace weft::property {

namespace {

class Notification final : public Thing {
  public:
    using Thing::Thing;
    std::unique_ptr<Model> model() const override { return std::make_unique<NotifyModel>(); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0:
            case 1: return tryWait(actor);
            case 2:
            case 3:
            case 4: return notify(actor, true);
            case 5:
            case 6: return notify(actor, false);
            default: return wait(actor, operation);
        }
    }
    std::unique_ptr<Choice> choice(Actor&, Call& call) override {
        call.verb = Verb::wait;
        call.queues = true;
        call.hasTicket = true;
        return makeChoice([this](Got got) { return sync::onNotify(notify_, std::move(got)); });
    }
    void finish(Actor& actor) override {
        if (notify_.waiters() != 0) actor.world().fault("a Notify has waiters");
        tryWait(actor);
        tryWait(actor);
    }

  private:
    void tryWait(Actor& actor) {
        Call& call = actor.begin(*this, Verb::tryWait);
        actor.end(call, notify_.tryWait() ? Outcome::done : Outcome::refused);
    }
    void notify(Actor& actor, bool one) {
        Call& call = actor.begin(*this, one ? Verb::notifyOne : Verb::notifyAll);
        one ? notify_.notifyOne() : notify_.notifyAll();
        actor.end(call, Outcome::done);
    }
    void wait(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, Verb::wait);
        call.hasTicket = true;
        const Deadline deadline = actor.queue(call, operation);
        const auto ticket = notify_.ticket();
        const auto throwing = [&] {
            if (deadline != never) return throwUnless(notify_.waitUntil(deadline, ticket));
            notify_.wait(ticket);
        };
        const ErrorCode error = waitFor(
            operation, [&](ErrorCode& result) { deadline == never ? notify_.wait(result) : throwing(); }, throwing);
        actor.end(call, error, deadline);
    }

    sync::Notify notify_;
};

class Meeting final : public Thing {
  public:
    Meeting(int number, unsigned parties) : Thing(number), parties_(parties), barrier_(parties) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<BarrierModel>(parties_); }

    void use(Actor& actor, const Operation& operation) override {
        Call& call = actor.begin(*this, Verb::wait);
        const Deadline deadline = actor.queue(call, operation);
        bool leads = false;
        const ErrorCode error = waitFor(
            operation,
            [&](ErrorCode& result) {
                leads = deadline == never ? barrier_.wait(result) : barrier_.waitUntil(deadline, result);
            },
            [&] {
                if (deadline == never) {
                    leads = barrier_.wait();
                    return;
                }
                ErrorCode result;
                leads = barrier_.waitUntil(deadline, result);
                if (result) throw SystemError(result, "property");
            });
        actor.end(call, error, deadline, leads);
    }
    void finish(Actor& actor) override {
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, static_cast<long>(barrier_.waiters()));
        if (call.value != 0) actor.world().fault("a Barrier has waiters");
    }

  private:
    const unsigned parties_;
    sync::Barrier barrier_;
};

class Group final : public Thing {
  public:
    Group(int number, unsigned count) : Thing(number), count_(count), left_(count) { group_.add(count); }
    std::unique_ptr<Model> model() const override { return std::make_unique<WaitGroupModel>(count_); }

    void use(Actor& actor, const Operation& operation) override {
        operation.choice < 5 ? done(actor) : wait(actor, operation);
    }
    void finish(Actor& actor) override {
        if (group_.waiters() != 0) actor.world().fault("a WaitGroup has waiters");
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, group_.count());
    }

  private:
    void done(Actor& actor) {
        if (left_.fetch_sub(1) <= 0) return;  // it may not be called more often
        Call& call = actor.begin(*this, Verb::finish);
        group_.done();
        actor.end(call, Outcome::done);
    }
    void wait(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, Verb::wait);
        const Deadline deadline = actor.queue(call, operation);
        const auto throwing = [&] {
            if (deadline != never) return throwUnless(group_.waitUntil(deadline));
            group_.wait();
        };
        const ErrorCode error = waitFor(
            operation, [&](ErrorCode& result) { deadline == never ? group_.wait(result) : throwing(); }, throwing);
        actor.end(call, error, deadline);
    }

    const unsigned count_;
    std::atomic<long> left_;
    sync::WaitGroup group_;
};

class Once final : public Thing {
  public:
    using Thing::Thing;
    std::unique_ptr<Model> model() const override { return std::make_unique<OnceModel>(); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice % 6) {
            case 0: return read(actor);
            case 1: return emplace(actor);
            default: return obtain(actor, operation);
        }
    }
    void finish(Actor& actor) override {
        if (cell_.waiters() != 0) actor.world().fault("a OnceCell has waiters");
        read(actor);
    }

  private:
    struct Failed {};

    void read(Actor& actor) {
        Call& call = actor.begin(*this, Verb::read);
        const long* const value = cell_.get();
        actor.end(call, Outcome::done, value != nullptr ? *value : nothing);
    }
    void emplace(Actor& actor) {
        const long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::emplace);
        actor.end(call, cell_.tryEmplace(value) ? Outcome::done : Outcome::refused, value);
    }
    // The caller becomes the one that initialises when its function is called.
    void obtain(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, Verb::obtain);
        long value = 0;
        try {
            const ErrorCode error = Actor::errorOf([&] {
                value = cell_.getOrInit([&] {
                    call.verb = Verb::initialize;
                    call.entered = actor.world().stamp();
                    actor.linger(operation);
                    call.left = actor.world().stamp();
                    if (operation.choice == 2) throw Failed();
                    return actor.world().freshValue();
                });
            });
            actor.end(call, error, never, value);
        } catch (const Failed&) {
            actor.end(call, Outcome::failed);
        }
    }

    sync::OnceCell<long> cell_;
};

}  // namespace

std::unique_ptr<Thing> makeMeeting(const Object& object, int number) {
    switch (object.kind) {
        case Kind::notify: return std::make_unique<Notification>(number);
        case Kind::barrier: return std::make_unique<Meeting>(number, object.amount);
        case Kind::waitGroup: return std::make_unique<Group>(number, object.amount);
        case Kind::onceCell: return std::make_unique<Once>(number);
        default: return nullptr;
    }
}

}  // namespace weft::property
