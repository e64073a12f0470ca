// CancelScope: a block whose waits a CancelToken or a std::stop_token ends.
#pragma once

#include <optional>
#include <stop_token>

#include <weft/scheduler/cancel_token.hpp>
#include <weft/scheduler/detail/task_cancel_frame.hpp>
#include <weft/scheduler/detail/wait_scopes.hpp>

namespace weft {

// When the token is cancelled, the current wait of the scope's fiber or thread and each later one in the scope ends
// with operation_aborted, as after a cancellation of the fiber; after the scope it waits as before. The TaskScopes that
// are constructed in the scope are cancelled. Cancelling a scope cancels those inside it. A CancellationShield
// defers the cancellation; waits that nothing may interrupt ignore it. Context: constructed and destroyed by the same
// fiber or plain thread, the innermost first; each TaskScope and JoinSet that is constructed in it must end before it
// (asserted). Never allocates or throws. The destructor waits for a cancel() that is ending this scope's waits now. No
// callback of the stop_token may suspend a fiber.
class CancelScope {
  public:
    explicit CancelScope(const CancelToken& token) noexcept;
    explicit CancelScope(std::stop_token token) noexcept;
    ~CancelScope();
    CancelScope(const CancelScope&) = delete;
    CancelScope& operator=(const CancelScope&) = delete;

    // True if its token or one around it has been cancelled.
    bool cancelled() const noexcept { return frame_.cancelled(); }

  private:
    explicit CancelScope(detail::CurrentTask here) noexcept;

    struct Node final : detail::TokenNode {
        explicit Node(detail::CancelFrame& owner) noexcept : TokenNode(&Node::call), frame(owner) {}
        static void call(detail::CancelNode& node, std::uint64_t caller) noexcept {
            static_cast<Node&>(node).frame.cancel(caller);
        }
        detail::CancelFrame& frame;
    };
    struct OnStop {
        void operator()() const noexcept;
        detail::CancelFrame* frame;
    };

    detail::WaitScopes& scopes_;
    detail::CancelFrame* const outer_;
    detail::CancelFrame frame_;
    Node node_;
    std::optional<std::stop_callback<OnStop>> onStop_;
};

}  // namespace weft
