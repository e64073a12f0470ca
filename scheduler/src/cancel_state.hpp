// CancelState: what the copies of a CancelSource share with its tokens. Private to the scheduler.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include <weft/scheduler/cancel_token.hpp>

namespace weft::detail {

// Keeps its parent alive, not its children.
class CancelState : public std::enable_shared_from_this<CancelState> {
  public:
    CancelState() noexcept : inParent_(*this) {}
    ~CancelState();
    CancelState(const CancelState&) = delete;
    CancelState& operator=(const CancelState&) = delete;

    // Once each, before the state is shared with other threads.
    void follow(const std::shared_ptr<CancelState>& parent) noexcept;
    void follow(std::stop_token token) noexcept;

    CancelList& list() noexcept { return list_; }
    // Cancels its children, too, in a loop: the depth of the tree is the program's.
    bool cancel(CancelList::Caller caller) noexcept;

  private:
    struct InParent final : TokenNode {
        explicit InParent(CancelState& state) noexcept : TokenNode(&InParent::call), self(state) {}
        static void call(CancelNode& node, std::uint64_t caller) noexcept;
        CancelState& self;
    };
    struct OnStop {
        void operator()() const noexcept;
        CancelState& self;
    };

    CancelState* beginWith(CancelState& parent, CancelList::Caller caller) noexcept;

    CancelList list_;
    InParent inParent_;
    // While its parent cancels it, for the thread that does so:
    std::shared_ptr<CancelState> alive_;
    CancelState* cancelledBy_ = nullptr;
    std::optional<std::stop_callback<OnStop>> onStop_;
};

}  // namespace weft::detail
