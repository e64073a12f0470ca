// BranchChoice: a branch of sync::select() as a Choice.
#pragma once

#include <optional>
#include <utility>

#include "property/thing.hpp"

namespace weft::property {

// What the chosen branch has got: nothing without a value.
struct Got {
    void operator()(std::optional<long> value) { result = value; }
    void operator()() { result = 0; }
    std::optional<long>& result;
};

template <class Branch>
class BranchChoice final : public Choice {
  public:
    // make(Got) makes the branch.
    template <class Make>
    explicit BranchChoice(Make make) : branch_(make(Got{result_})) {}

    weft::detail::SelectBranch& branch() noexcept override { return branch_; }
    void take(Call& call) override {
        branch_.run();
        call.outcome = result_ ? Outcome::done : Outcome::closed;
        call.value = result_.value_or(0);
    }

  private:
    std::optional<long> result_;
    Branch branch_;
};

template <class Make>
std::unique_ptr<Choice> makeChoice(Make make) {
    return std::make_unique<BranchChoice<decltype(make(std::declval<Got>()))>>(make);
}

}  // namespace weft::property
