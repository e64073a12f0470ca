// Model: what one object may do, as a sequential machine. Each call is one step or several; the machine says whether a
// step is allowed in its state, and what the state is afterwards. It knows no fibers and no time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "property/call.hpp"

namespace weft::property {

enum class Phase : std::uint8_t {
    whole,   // the call has its effect at one moment
    ticket,  // a wait for a Notify takes its ticket
    begin,   // the call gets what it wants, or queues
    giveUp,  // its wait ends otherwise; it keeps its place in the queue until `end`
    end,     // it has got what it wants, or leaves the queue
    relock,  // a wait for a condition has the mutex again
};

class Model {
  public:
    virtual ~Model() = default;
    virtual std::unique_ptr<Model> clone() const = 0;
    // False: the step is not allowed; the state is then unspecified. `id`: the call's, in its history.
    virtual bool apply(Phase phase, const Call& call, int id) = 0;
    // False: the call has been granted something else than what it has returned, so its `end` cannot come any more.
    virtual bool mayEnd(const Call&, int) const { return true; }
    // Equal for equal states.
    virtual std::vector<long> state() const = 0;
    // At the end of a history: no call is owed anything.
    virtual bool isSettled() const { return true; }
};

template <class Derived>
class ModelBase : public Model {
  public:
    std::unique_ptr<Model> clone() const override {
        return std::make_unique<Derived>(static_cast<const Derived&>(*this));
    }
};

// What a call that waits has been granted: `nothing` if it is closed.
inline long resultOf(const Call& call) noexcept {
    return call.outcome == Outcome::closed ? nothing : call.value;
}

// The calls that wait, first in, first out, and those that have got something and have not returned.
class Waiters {
  public:
    struct Waiter {
        int id;
        long wants;
        bool gone = false;  // has given up
    };

    bool empty() const noexcept { return queue_.empty(); }
    const Waiter& first() const { return queue_.front(); }
    void append(int id, long wants = 0) { queue_.push_back({id, wants}); }
    void grant(int id, long value = 0) { granted_[id] = value; }
    // Returns false if the first waiter has given up; then it only leaves the queue.
    bool grantFirst(long value = 0) {
        const bool grants = !queue_.front().gone;
        if (grants) grant(queue_.front().id, value);
        queue_.erase(queue_.begin());
        return grants;
    }
    void grantAll(long value = 0) {
        while (!queue_.empty()) grantFirst(value);
    }
    // The call returns.
    bool take(const Call& call, int id) {
        const auto found = granted_.find(id);
        if (found == granted_.end() || found->second != resultOf(call)) return false;
        granted_.erase(found);
        return true;
    }
    // As Model::mayEnd() says.
    bool mayEnd(const Call& call, int id) const {
        const auto found = granted_.find(id);
        return found == granted_.end() || (!call.gaveUp() && found->second == resultOf(call));
    }
    bool giveUp(int id) {
        const auto found = find(id);
        if (found == queue_.end()) return false;
        return found->gone = true;
    }
    bool withdraw(int id) {
        const auto found = find(id);
        if (found == queue_.end()) return false;
        queue_.erase(found);
        return true;
    }
    void addTo(std::vector<long>& state) const {
        state.push_back(static_cast<long>(queue_.size()));
        for (const Waiter& each : queue_) state.insert(state.end(), {each.id, each.wants, each.gone});
        for (const auto& [id, value] : granted_) state.insert(state.end(), {id, value});
        state.push_back(nothing);
    }

  private:
    std::vector<Waiter>::iterator find(int id) {
        return std::find_if(queue_.begin(), queue_.end(), [id](const Waiter& each) { return each.id == id; });
    }

    std::vector<Waiter> queue_;
    std::map<int, long> granted_;
};

}  // namespace weft::property
