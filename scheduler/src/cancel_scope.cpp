#include <weft/scheduler/cancel_scope.hpp>

#include <weft/scheduler/assert.hpp>

#include "caller_id.hpp"

namespace weft {

CancelScope::CancelScope(detail::CurrentTask here) noexcept
    : scopes_(here.scopes),
      outer_(scopes_.innermost),
      frame_(detail::FrameTarget{&here.task, &here.interrupts}, outer_, detail::callerId()),
      node_(frame_) {
    scopes_.innermost = &frame_;
}

CancelScope::CancelScope(const CancelToken& token) noexcept : CancelScope(detail::currentTask()) {
    if (token.state_ != nullptr && !node_.attach(token.state_)) frame_.cancel(detail::callerId());
}

CancelScope::CancelScope(std::stop_token token) noexcept : CancelScope(detail::currentTask()) {
    onStop_.emplace(std::move(token), OnStop{&frame_});
}

CancelScope::~CancelScope() {
    onStop_.reset();
    node_.detach();
    WEFT_ASSERT(scopes_.innermost == &frame_ && frame_.list().empty(),
                "a CancelScope ends before a scope that was begun in it");
    frame_.leave(detail::callerId());
    scopes_.innermost = outer_;
}

void CancelScope::OnStop::operator()() const noexcept {
    frame->cancel(detail::callerId());
}

}  // namespace weft
