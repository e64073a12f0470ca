// Actor::select(): which call of which object explains a select().
#include <array>
#include <vector>

#include "property/actor.hpp"

namespace weft::property {

namespace {

struct TimeBranch final : weft::detail::SelectBranch {
    explicit TimeBranch(Deadline at) noexcept { deadline = at; }
    bool tryNow() override { return deadline != never && Clock::current().now() >= deadline; }
    bool enlist(const WakeKey&) override { return true; }
    void withdraw(bool) noexcept override {}
};
struct ElseBranch final : weft::detail::SelectBranch {
    ElseBranch() noexcept { waits = false; }
    bool tryNow() override { return false; }
    bool enlist(const WakeKey&) override { return true; }
    void withdraw(bool) noexcept override {}
};

}  // namespace

// The branches are those of sync::select(), in a number that is known only now.
void Actor::select(const Operation& operation) {
    const Stamp begun = world_.stamp();
    const Deadline own = deadlineOf(operation);
    const bool late = passed(own).has_value();
    std::deque<Call> calls;
    std::vector<std::unique_ptr<Choice>> choices;
    for (const int object : operation.objects) {
        Call& call = calls.emplace_back();
        call.object = object;
        call.actor = id_;
        call.begun = begun;
        auto choice = world_.thing(static_cast<std::size_t>(object)).choice(*this, call);
        choice ? choices.push_back(std::move(choice)) : calls.pop_back();
    }
    if (choices.empty()) return;

    TimeBranch time(own);
    ElseBranch otherwise;
    std::vector<weft::detail::SelectBranch*> branches;
    for (const auto& choice : choices) branches.push_back(&choice->branch());
    if (operation.choice == 0) {
        branches.push_back(&otherwise);
    } else if (operation.timed) {
        branches.push_back(&time);
    }
    ErrorCode error;
    const std::size_t chosen = weft::detail::selectOne(branches, weft::detail::SelectOrder::atRandom, error);
    if (!error && chosen < choices.size()) {
        choices[chosen]->take(calls[chosen]);
        calls[chosen].ended = world_.stamp();
        calls[chosen].queuesLate = passed(own).has_value();
        calls_.push_back(calls[chosen]);
        return;
    }
    // A deadline that had passed may have been chosen before the other branches were tried.
    if (!error && operation.choice != 0 && (late || !world_.exact())) return;
    for (Call& call : calls) {
        if (error || operation.choice != 0) {
            end(call, error ? error : timedOut(), own);
        } else {
            call.verb = Verb::find;
            call.queues = false;
            end(call, Outcome::refused);
        }
        calls_.push_back(call);
    }
}

}  // namespace weft::property
