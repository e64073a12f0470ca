#include "lookup_table.hpp"

#include <iterator>
#include <new>
#include <utility>

#include <weft/scheduler/assert.hpp>

namespace weft::detail {

void LookupTable::Answer::deliverTo(Caller& caller) const noexcept {
    if (failure) {
        caller.promise.setError(failure);
        return;
    }
    try {
        Addresses own = addresses;
        for (SocketAddress& address : own) address.setPort(caller.port);
        caller.promise.setValue(std::move(own));
    } catch (const std::bad_alloc&) {
        caller.promise.setError(std::current_exception());
    }
}

const LookupTable::Answer* LookupTable::find(const std::string& host, TimePoint now) noexcept {
    const auto found = names_.find(host);
    if (found == names_.end() || found->second.stage != Stage::known) return nullptr;
    if (now < found->second.until) return &found->second.answer;
    names_.erase(found);
    --answers_;
    return nullptr;
}

void LookupTable::add(Caller&& caller) {
    const std::string& host = callers_.emplace_back(std::move(caller)).host;
    bool queued = false;
    Names::iterator name;
    try {
        const auto [place, fresh] = names_.try_emplace(host);
        name = place;
        if (fresh) name->second.place = queue_.end();
        if (fresh) name->second.place = queue_.insert(queue_.end(), host);
        queued = true;
        WEFT_ASSERT(name->second.stage != Stage::known, "LookupTable::add() called for a name whose answer is known");
        name->second.callers.push_back(std::prev(callers_.end()));
    } catch (...) {
        const auto left = names_.find(host);
        if (left != names_.end() && left->second.callers.empty() && left->second.stage == Stage::queued) {
            if (queued) queue_.erase(left->second.place);
            names_.erase(left);
        }
        callers_.pop_back();
        throw;
    }
}

LookupTable::Caller LookupTable::takeNewest() noexcept {
    const auto name = names_.find(callers_.back().host);
    name->second.callers.pop_back();
    Caller newest = std::move(callers_.back());
    callers_.pop_back();
    forgetUnwanted(name);
    return newest;
}

std::optional<std::string> LookupTable::takeQueued() noexcept {
    if (queue_.empty()) return std::nullopt;
    std::optional<std::string> host(std::move(queue_.front()));
    queue_.pop_front();
    names_.find(*host)->second.stage = Stage::running;
    return host;
}

LookupTable::Callers LookupTable::finish(const std::string& host, const Answer& answer, TimePoint now) noexcept {
    const auto name = names_.find(host);
    Callers waiting;
    for (const Callers::iterator caller : name->second.callers) waiting.splice(waiting.end(), callers_, caller);
    name->second.callers.clear();
    try {
        keep(name, answer, now);
    } catch (const std::bad_alloc&) {  // it will be looked up again
        names_.erase(name);
    }
    return waiting;
}

void LookupTable::keep(Names::iterator name, const Answer& answer, TimePoint now) {
    if (answer.good == Duration::zero() || options_.maxCached == 0) {
        names_.erase(name);
        return;
    }
    name->second.answer = answer;
    name->second.until = deadlineAfter(now, answer.good);
    if (answers_ >= options_.maxCached) makeRoom(now);
    name->second.stage = Stage::known;
    ++answers_;
}

// Scans all answers, which is cheap compared to the lookup that precedes each insertion into a full table.
void LookupTable::makeRoom(TimePoint now) noexcept {
    Names::iterator first = names_.end();
    for (auto name = names_.begin(); name != names_.end();) {
        const auto here = name++;
        if (here->second.stage != Stage::known) continue;
        if (here->second.until <= now) {
            names_.erase(here);
            --answers_;
        } else if (first == names_.end() || here->second.until < first->second.until) {
            first = here;
        }
    }
    if (answers_ < options_.maxCached || first == names_.end()) return;
    names_.erase(first);
    --answers_;
}

LookupTable::Callers LookupTable::takeLate(TimePoint now) noexcept {
    Callers late;
    while (!callers_.empty() && callers_.front().deadline <= now) {
        const auto name = names_.find(callers_.front().host);
        name->second.callers.pop_front();
        late.splice(late.end(), callers_, callers_.begin());
        forgetUnwanted(name);
    }
    return late;
}

void LookupTable::forgetUnwanted(Names::iterator name) noexcept {
    if (!name->second.callers.empty() || name->second.stage != Stage::queued) return;
    queue_.erase(name->second.place);
    names_.erase(name);
}

void LookupTable::clear() noexcept {
    std::erase_if(names_, [](const auto& name) { return name.second.stage == Stage::known; });
    answers_ = 0;
}

}  // namespace weft::detail
