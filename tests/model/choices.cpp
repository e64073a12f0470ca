#include "choices.hpp"

#include <algorithm>
#include <utility>

namespace weft::model {

namespace {
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
}

const char* nameOf(Search search) noexcept {
    switch (search) {
        case Search::depthFirst: return "depth-first";
        case Search::full: return "full";
        case Search::random: return "random";
        case Search::pct: return "pct";
        case Search::replay: return "replay";
    }
    return "?";
}

std::uint64_t Random::next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void Choices::begin(Search search, std::uint64_t seed) {
    search_ = search;
    stack_.clear();
    position_ = 0;
    first_ = true;
    random_ = Random(seed);
    longest_ = 16;
}

void Choices::beginPct(std::uint64_t seed, unsigned depth) {
    begin(Search::pct, seed);
    depth_ = std::min<unsigned>(depth, changeAt_.size());
}

void Choices::beginReplay(std::string_view token) {
    begin(Search::replay);
    for (const char digit : token) {
        const std::size_t taken = digits.find(digit);
        if (taken != digits.npos) stack_.push_back({static_cast<std::uint8_t>(taken), 0});
    }
}

bool Choices::advance() {
    if (std::exchange(first_, false)) {
        drawPriorities();
        return true;
    }
    if (search_ == Search::replay) return false;
    if (search_ != Search::depthFirst) {
        longest_ = std::max(longest_, step_);
        stack_.clear();
        position_ = 0;
        drawPriorities();
        return true;
    }
    stack_.resize(std::min(stack_.size(), position_));  // an execution that was cut short has not used its whole prefix
    while (!stack_.empty() && stack_.back().taken + 1 >= stack_.back().count) stack_.pop_back();
    if (stack_.empty()) return false;
    ++stack_.back().taken;
    position_ = 0;
    return true;
}

unsigned Choices::record(unsigned taken, unsigned count) {
    stack_.push_back({static_cast<std::uint8_t>(taken), static_cast<std::uint8_t>(count)});
    ++position_;
    return taken;
}

unsigned Choices::choose(unsigned count) {
    if (position_ < stack_.size()) return std::min<unsigned>(stack_[position_++].taken, count - 1);
    if (search_ == Search::depthFirst || search_ == Search::replay) return record(0, count);
    // Half of the loads read the newest store: an execution with only stale reads rarely makes progress.
    return record(random_.below(2) == 0 ? 0 : random_.below(count), count);
}

unsigned Choices::pickThread(std::span<const std::uint8_t> threads, unsigned allowed) {
    const auto count = static_cast<unsigned>(threads.size());
    ++step_;
    if (count == 1) return 0;
    switch (search_) {
        case Search::depthFirst: return allowed == 1 && position_ >= stack_.size() ? record(0, 1) : choose(allowed);
        case Search::replay: return choose(count);
        case Search::random: return record(random_.below(count), count);
        default: return record(byPriority(threads), count);
    }
}

unsigned Choices::byPriority(std::span<const std::uint8_t> threads) {
    const auto highest = [&] {
        return static_cast<unsigned>(std::max_element(threads.begin(), threads.end(),
                                                      [&](auto a, auto b) { return priority_[a] < priority_[b]; }) -
                                     threads.begin());
    };
    for (unsigned change = 1; change < depth_; ++change) {
        if (changeAt_[change] == step_) priority_[threads[highest()]] = -static_cast<int>(change);
    }
    return highest();
}

void Choices::drawPriorities() {
    step_ = 0;
    if (search_ != Search::pct) return;
    for (unsigned i = 0; i < priority_.size(); ++i) priority_[i] = static_cast<int>(i) + 1;
    for (unsigned i = priority_.size(); i > 1; --i) std::swap(priority_[i - 1], priority_[random_.below(i)]);
    for (unsigned& step : changeAt_) step = 1 + random_.below(longest_);
}

std::string Choices::token() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(position_, stack_.size()); ++i) text += digits[stack_[i].taken];
    text.erase(text.find_last_not_of('0') + 1);  // a missing digit means the first alternative
    return text;
}

}  // namespace weft::model
