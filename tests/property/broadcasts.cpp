// Broadcast and Watch as things. An actor has a reader of its own from its first call that reads.
#include <weft/scheduler/sync/broadcast.hpp>
#include <weft/scheduler/sync/watch.hpp>

#include "property/actor.hpp"
#include "property/choices.hpp"
#include "property/queue_models.hpp"
#include "property/thing.hpp"
#include "property/waiting.hpp"

namespace weft::property {

namespace {

template <class Reader>
struct ReaderLocal final : Local {
    template <class Source>
    explicit ReaderLocal(Source& source) : reader(source) {}
    Reader reader;
};

// What both have: readers, and an end.
template <class Source, class Reader>
class Readable : public Thing {
  public:
    void leave(Actor& actor) override {
        if (!actor.local(*this)) return;
        Call& call = actor.begin(*this, Verb::unsubscribe, actor.id());
        actor.local(*this).reset();
        actor.end(call, Outcome::done);
    }

  protected:
    template <class Argument>
    Readable(int number, Argument argument) : Thing(number), source_(argument) {}

    Reader& reader(Actor& actor) {
        auto& local = actor.local(*this);
        if (!local) {
            Call& call = actor.begin(*this, Verb::subscribe, actor.id());
            local = std::make_unique<ReaderLocal<Reader>>(source_);
            actor.end(call, Outcome::done);
        }
        return static_cast<ReaderLocal<Reader>&>(*local).reader;
    }
    // receive(error), receiveUntil(deadline, error), receive().
    template <class Plain, class Until, class Throwing>
    void read(Actor& actor, const Operation& operation, Verb verb, Plain plain, Until until, Throwing throwing) {
        Reader& from = reader(actor);
        Call& call = actor.begin(*this, verb, actor.id());
        const Deadline deadline = actor.queue(call, operation);
        call.queues = false;  // all readers get what they wait for
        const std::uint64_t before = missedBy(from);
        std::optional<long> value;
        const ErrorCode error = waitFor(
            operation,
            [&](ErrorCode& result) { value = deadline == never ? plain(from, result) : until(from, deadline, result); },
            [&] {
                ErrorCode result;
                value = deadline == never ? throwing(from) : until(from, deadline, result);
                if (result) throw SystemError(result, "property");
            });
        call.missed = static_cast<long>(missedBy(from) - before);
        if (!error && !value) return actor.end(call, Outcome::closed);
        actor.end(call, error, deadline, value.value_or(0));
    }
    void close(Actor& actor) {
        Call& call = actor.begin(*this, Verb::close);
        actor.end(call, Outcome::done, source_.close());
    }
    static std::uint64_t missedBy(const sync::BroadcastReceiver<long>& from) { return from.missed(); }
    static std::uint64_t missedBy(const sync::WatchReader<long>&) { return 0; }

    Source source_;
};

class Broadcasting final : public Readable<sync::Broadcast<long>, sync::BroadcastReceiver<long>> {
  public:
    Broadcasting(int number, unsigned capacity) : Readable(number, std::size_t{capacity}), capacity_(capacity) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<BroadcastModel>(capacity_); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0: return tryReceive(actor);
            case 1:
                if (operation.amount == 1) return close(actor);
                return leave(actor);
            case 2:
            case 3:
            case 4:
            case 5: return send(actor);
            default:
                return read(
                    actor, operation, Verb::receive, [](auto& from, ErrorCode& error) { return from.receive(error); },
                    [](auto& from, Deadline at, ErrorCode& error) { return from.receiveUntil(at, error); },
                    [](auto& from) { return from.receive(); });
        }
    }
    std::unique_ptr<Choice> choice(Actor& actor, Call& call) override;
    void finish(Actor& actor) override {
        if (source_.waiters() != 0) actor.world().fault("a Broadcast has waiters");
        Call& call = actor.begin(*this, Verb::count);
        actor.end(call, Outcome::done, static_cast<long>(source_.receivers()));
    }

  private:
    void send(Actor& actor) {
        const long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::send, value);
        actor.end(call, Outcome::done, static_cast<long>(source_.send(value)));
    }
    void tryReceive(Actor& actor) {
        auto& from = reader(actor);
        const std::uint64_t before = from.missed();
        Call& call = actor.begin(*this, Verb::tryReceive, actor.id());
        const auto value = from.tryReceive();
        call.missed = static_cast<long>(from.missed() - before);
        actor.end(call, value ? Outcome::done : Outcome::refused, value.value_or(0));
    }

    const unsigned capacity_;
};

// Also notes how many values the reader has missed.
class BroadcastChoice final : public Choice {
  public:
    explicit BroadcastChoice(sync::BroadcastReceiver<long>& from)
        : from_(from),
          missed_(from.missed()),
          choice_(makeChoice([&from](Got got) { return sync::onReceive(from, std::move(got)); })) {}
    weft::detail::SelectBranch& branch() noexcept override { return choice_->branch(); }
    void take(Call& call) override {
        choice_->take(call);
        call.missed = static_cast<long>(from_.missed() - missed_);
    }

  private:
    sync::BroadcastReceiver<long>& from_;
    const std::uint64_t missed_;
    std::unique_ptr<Choice> choice_;
};

std::unique_ptr<Choice> Broadcasting::choice(Actor& actor, Call& call) {
    auto& from = reader(actor);
    call.begun = actor.world().stamp();
    call.verb = Verb::receive;
    call.argument = actor.id();
    return std::make_unique<BroadcastChoice>(from);
}

class Watching final : public Readable<sync::Watch<long>, sync::WatchReader<long>> {
  public:
    explicit Watching(int number) : Readable(number, 0L) {}
    std::unique_ptr<Model> model() const override { return std::make_unique<WatchModel>(0); }

    void use(Actor& actor, const Operation& operation) override {
        switch (operation.choice) {
            case 0: return get(actor);
            case 1:
                if (operation.amount == 1) return close(actor);
                return leave(actor);
            case 2:
            case 3:
            case 4:
            case 5: return send(actor, operation);
            default:
                return read(
                    actor, operation, Verb::next, [](auto& from, ErrorCode& error) { return from.next(error); },
                    [](auto& from, Deadline at, ErrorCode& error) { return from.nextUntil(at, error); },
                    [](auto& from) { return from.next(); });
        }
    }
    std::unique_ptr<Choice> choice(Actor& actor, Call& call) override {
        auto& from = reader(actor);
        call.begun = actor.world().stamp();
        call.verb = Verb::next;
        call.argument = actor.id();
        return makeChoice([&from](Got got) { return sync::onChange(from, std::move(got)); });
    }
    void finish(Actor& actor) override {
        if (source_.waiters() != 0) actor.world().fault("a Watch has waiters");
        get(actor);
    }

  private:
    void get(Actor& actor) {
        Call& call = actor.begin(*this, Verb::read);
        actor.end(call, Outcome::done, source_.get());
    }
    void send(Actor& actor, const Operation& operation) {
        const long value = actor.world().freshValue();
        Call& call = actor.begin(*this, Verb::send, value);
        const bool sent =
            operation.throws ? source_.send(value) : source_.modify([value](long& each) { each = value; });
        actor.end(call, sent ? Outcome::done : Outcome::closed);
    }
};

}  // namespace

std::unique_ptr<Thing> makeBroadcast(const Object& object, int number) {
    switch (object.kind) {
        case Kind::broadcast: return std::make_unique<Broadcasting>(number, object.amount);
        case Kind::watch: return std::make_unique<Watching>(number);
        default: return nullptr;
    }
}

}  // namespace weft::property
