// BoundedQueue, UnboundedQueue and Oneshot as things.
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/oneshot.hpp>
#include <weft/scheduler/sync/unbounded_queue.hpp>

#include "property/actor.hpp"
#include "property/choices.hpp"
#include "property/queue_models.hpp"
#include "property/thing.hpp"
#include "property/waiting.hpp"

namespace weft::property {

namespace {

// What all three have: receivers, and an end.
template <class Queue>
class AnyQueue : public Thing {
  public:
    std::unique_ptr<Choice> choice(Actor&, Call& call) override {
        call.verb = Verb::receive;
        call.queues = true;
        return makeChoice([this](Got got) { return sync::onReceive(queue_, std::move(got)); });
    }
    void finish(Actor& actor) override {
        if (queue_.waiters() != 0) actor.world().fault("a queue has waiters");
        while (tryReceive(actor)) {
        }
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, static_cast<long>(queue_.size()));
    }

  protected:
    template <class... Args>
    explicit AnyQueue(int number, Args... args) : Thing(number), queue_(args...) {}

    bool tryReceive(Actor& actor) {
        Call& call = actor.begin(*this, Verb::tryReceive);
        const auto value = queue_.tryReceive();
        actor.end(call, value ? Outcome::done : Outcome::refused, value.value_or(0));
        return value.has_value();
    }
    void receive(Actor& actor, const Operation& operation) {
        Call& call = actor.begin(*this, Verb::receive);
        const Deadline deadline = actor.queue(call, operation);
        std::optional<long> value;
        const ErrorCode error = waitFor(
            operation,
            [&](ErrorCode& result) {
                value = deadline == never ? queue_.receive(result) : queue_.receiveUntil(deadline, result);
            },
            [&] {
                ErrorCode result;
                value = deadline == never ? queue_.receive() : queue_.receiveUntil(deadline, result);
                if (result) throw SystemError(result, "property");
            });
        if (!error && !value) return actor.end(call, Outcome::closed);
        actor.end(call, error, deadline, value.value_or(0));
    }
    void close(Actor& actor) {
        Call& call = actor.begin(*this, Verb::close);
        actor.end(call, Outcome::done, queue_.close());
    }

    Queue queue_;
};

class Bounded final : public AnyQueue<sync::BoundedQueue<long>> {
  public:
    Bounded(int number, unsigned capacity) : AnyQueue(number, std::size_t{capacity}) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<QueueModel>(queue_.capacity(), false); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0: return void(tryReceive(actor));
            case 1: return trySend(actor);
            case 2:
                if (operation.amount == 1) return close(actor);
                [[fallthrough]];
            case 3:
            case 4:
            case 5:
            case 6: return receive(actor, operation);
            default: return send(actor, operation);
        }
    }

  private:
    void trySend(Actor& actor) {
        long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::trySend, value);
        switch (queue_.trySend(std::move(value))) {
            case sync::QueueStatus::done: return actor.end(call, Outcome::done);
            case sync::QueueStatus::closed: return actor.end(call, Outcome::closed);
            case sync::QueueStatus::wouldWait: return actor.end(call, Outcome::refused);
        }
    }
    void send(Actor& actor, const Operation& operation) {
        long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::send, value);
        const Deadline deadline = actor.queue(call, operation);
        const ErrorCode error = waitFor(
            operation,
            [&](ErrorCode& result) {
                deadline == never ? queue_.send(std::move(value), result)
                                  : void(queue_.sendUntil(deadline, std::move(value), result));
            },
            [&] {
                if (deadline == never) return queue_.send(std::move(value));
                throwUnless(queue_.sendUntil(deadline, std::move(value)));
            });
        actor.end(call, error, deadline);
    }
};

class Unbounded final : public AnyQueue<sync::UnboundedQueue<long>> {
  public:
    explicit Unbounded(int number) : AnyQueue(number) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<QueueModel>(1'000'000, false); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0: return void(tryReceive(actor));
            case 1:
                if (operation.amount == 1) return close(actor);
                [[fallthrough]];
            case 2:
            case 3:
            case 4:
            case 5:
            case 6: return receive(actor, operation);
            default: return send(actor, operation);
        }
    }

  private:
    void send(Actor& actor, const Operation& operation) {
        long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::trySend, value);
        const ErrorCode error = waitFor(
            operation, [&](ErrorCode& result) { queue_.send(std::move(value), result); },
            [&] { queue_.send(std::move(value)); });
        actor.end(call, error, never);
    }
};

class Single final : public AnyQueue<sync::Oneshot<long>> {
  public:
    explicit Single(int number) : AnyQueue(number) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<QueueModel>(1, true); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0: return void(tryReceive(actor));
            case 1: return close(actor);
            case 2:
            case 3:
            case 4: return send(actor);
            default: return receive(actor, operation);
        }
    }

  private:
    void send(Actor& actor) {
        long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::trySend, value);
        actor.end(call, queue_.send(std::move(value)) ? Outcome::done : Outcome::closed);
    }
};

}  // namespace

std::unique_ptr<Thing> makeQueue(const Object& object, int number) {
    switch (object.kind) {
        case Kind::boundedQueue: return std::make_unique<Bounded>(number, object.amount);
        case Kind::unboundedQueue: return std::make_unique<Unbounded>(number);
        case Kind::oneshot: return std::make_unique<Single>(number);
        default: return nullptr;
    }
}

}  // namespace weft::property
