// The search of Wing and Gong for a linearization, with the states that it has seen; calls that wait have two steps, as
// in Scherer's and Scott's dual data structures.
#include "property/explanation.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

namespace weft::property {

namespace {

struct Step {
    const Call* call;
    int id;  // the call's
    Phase phase;
    Stamp from;
    Stamp until;
    int after = -1;  // the step that comes first, or -1
};

// In which order the steps are tried that may come next. Some histories have too many orders for the one, others for
// the other.
enum class Order { begun, likely };

class Search {
  public:
    // `most`: states, after which it gives up.
    Search(const std::vector<Call>& calls, bool exact, Order order, std::size_t most)
        : exact_(exact), order_(order), most_(most) {
        for (std::size_t i = 0; i < calls.size(); ++i) addCall(calls[i], static_cast<int>(i));
        taken_.assign(steps_.size(), false);
    }

    Explanation run(const Model& initial) {
        if (from(initial.clone(), 0)) return Explanation::found;
        return visited_.size() >= most_ ? Explanation::gaveUp : Explanation::none;
    }

  private:
    int add(const Call& call, int id, Phase phase, Stamp from, Stamp until, int after = -1) {
        steps_.push_back({&call, id, phase, from, until, after});
        return static_cast<int>(steps_.size()) - 1;
    }
    void addCall(const Call& call, int id) {
        const Stamp ending = std::max(call.begun, call.gaveUp() ? call.interrupted : 0);
        if (call.verb == Verb::initialize) {
            const int begin = add(call, id, Phase::begin, call.begun, call.entered);
            add(call, id, Phase::end, call.left, call.ended, begin);
        } else if (!call.queues) {
            add(call, id, Phase::whole, ending, call.ended);
        } else {
            const Stamp queued = exact_ && !call.queuesLate ? call.begun : call.ended;
            int last = -1;
            if (call.hasTicket) last = add(call, id, Phase::ticket, call.begun, queued);
            last = add(call, id, Phase::begin, call.begun, queued, last);
            if (call.verb == Verb::acquire && call.gaveUp())
                last = add(call, id, Phase::giveUp, ending, call.ended, last);
            last = add(call, id, Phase::end, ending, call.ended, last);
            if (call.relocks) add(call, id, Phase::relock, call.begun, call.ended, last);
        }
    }

    bool mayCome(std::size_t index, Stamp bound) const {
        const Step& step = steps_[index];
        return !taken_[index] && step.from <= bound && (step.after < 0 || taken_[static_cast<std::size_t>(step.after)]);
    }
    // No step that begins later may come next.
    Stamp bound() const {
        Stamp least = std::numeric_limits<Stamp>::max();
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (!taken_[i]) least = std::min(least, steps_[i].until);
        }
        return least;
    }
    static bool onlyReads(const Call& call) noexcept {
        return call.outcome == Outcome::refused || (call.gaveUp() && !call.queues) || call.verb == Verb::find ||
               call.verb == Verb::read || call.verb == Verb::count;
    }
    // To take it now cannot be wrong: it changes nothing that another step could see, now or later.
    static bool isFree(const Step& step, const std::vector<long>& before, const Model& after) {
        if (step.phase == Phase::end && step.call->queues && !step.call->gaveUp()) return true;
        return onlyReads(*step.call) && after.state() == before;
    }

    // Whether all calls may still return what they have returned, after `next`.
    bool mayEnd(const Model& model, std::size_t next) const {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const Step& step = steps_[i];
            if (step.phase == Phase::end && !taken_[i] && i != next && !model.mayEnd(*step.call, step.id)) return false;
        }
        return true;
    }
    // For Order::likely. In most histories the calls that got something queued in the order in which they ended, and
    // before those that got nothing.
    bool isLikelier(std::size_t a, std::size_t b) const {
        const auto rank = [this](std::size_t i) {
            return std::tuple(steps_[i].call->outcome != Outcome::done, steps_[i].call->ended, i);
        };
        return rank(a) < rank(b);
    }

    bool from(std::unique_ptr<Model> model, std::size_t count) {
        if (count == steps_.size()) return model->isSettled();
        const std::vector<long> state = model->state();
        if (visited_.size() >= most_ || !visited_.emplace(taken_, state).second) return false;
        const Stamp last = bound();
        std::vector<std::pair<std::size_t, std::unique_ptr<Model>>> choices;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (!mayCome(i, last)) continue;
            auto next = model->clone();
            if (!next->apply(steps_[i].phase, *steps_[i].call, steps_[i].id) || !mayEnd(*next, i)) continue;
            if (isFree(steps_[i], state, *next)) return with(i, std::move(next), count);
            choices.emplace_back(i, std::move(next));
        }
        if (order_ == Order::likely) {
            std::sort(choices.begin(), choices.end(),
                      [this](const auto& a, const auto& b) { return isLikelier(a.first, b.first); });
        }
        for (auto& [index, next] : choices) {
            if (with(index, std::move(next), count)) return true;
        }
        return false;
    }
    bool with(std::size_t index, std::unique_ptr<Model> model, std::size_t count) {
        taken_[index] = true;
        const bool found = from(std::move(model), count + 1);
        taken_[index] = false;
        return found;
    }

    const bool exact_;
    const Order order_;
    const std::size_t most_;
    std::vector<Step> steps_;
    std::vector<bool> taken_;
    std::set<std::pair<std::vector<bool>, std::vector<long>>> visited_;
};

}  // namespace

Explanation explain(const Model& initial, const std::vector<Call>& calls, bool exact) {
    for (std::size_t most = 5'000; most <= 320'000; most *= 8) {
        for (const Order order : {Order::begun, Order::likely}) {
            const Explanation result = Search(calls, exact, order, most).run(initial);
            if (result != Explanation::gaveUp) return result;
        }
    }
    return Explanation::gaveUp;
}

}  // namespace weft::property
