#include <weft/scheduler/cancel_token.hpp>

#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "caller_id.hpp"
#include "cancel_state.hpp"
#include "describe_error.hpp"

namespace weft {

namespace detail {

bool TokenNode::attach(const std::shared_ptr<CancelState>& state) noexcept {
    if (!state->list().add(*this)) return false;
    state_ = state;
    return true;
}

void TokenNode::detach() noexcept {
    if (state_ == nullptr) return;
    state_->list().remove(*this, callerId());
    state_ = nullptr;
}

// A token that was cancelled before its state was shared has no callbacks yet.
void CancelState::follow(const std::shared_ptr<CancelState>& parent) noexcept {
    if (parent != nullptr && !inParent_.attach(parent)) list_.cancel(callerId(), [] {});
}

void CancelState::follow(std::stop_token token) noexcept {
    onStop_.emplace(std::move(token), OnStop{*this});
}

bool CancelState::cancel(CancelList::Caller caller) noexcept {
    return list_.cancel(caller, [] {});
}

// The last token may be released meanwhile: if that was before, nothing observes the cancellation any more; if it is
// during the calls, this reference keeps the state until they have returned.
void CancelState::InParent::call(CancelNode& node, std::uint64_t caller) noexcept {
    if (const auto alive = static_cast<InParent&>(node).self.weak_from_this().lock()) alive->cancel(caller);
}

void CancelState::OnStop::operator()() const noexcept {
    if (const auto alive = self.weak_from_this().lock()) alive->cancel(callerId());
}

void callCancelled(void (*function)(void*), void* object) noexcept {
    const NonSuspendingScope scope;
    try {
        function(object);
    } catch (...) {
        log(LogLevel::error, {"a CancelCallback threw: ", describe(std::current_exception())});
    }
}

}  // namespace detail

CancelToken::CancelToken(std::stop_token token) : state_(std::make_shared<detail::CancelState>()) {
    state_->follow(std::move(token));
}

bool CancelToken::cancelled() const noexcept {
    return state_ != nullptr && state_->list().cancelled();
}

CancelSource::CancelSource() : state_(std::make_shared<detail::CancelState>()) {}

CancelSource::CancelSource(const CancelToken& parent) : CancelSource() {
    state_->follow(parent.state_);
}

bool CancelSource::cancel() noexcept {
    const auto alive = state_;  // a callback may destroy this source
    return alive->cancel(detail::callerId());
}

}  // namespace weft
