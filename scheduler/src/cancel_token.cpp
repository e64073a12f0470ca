#include <weft/scheduler/cancel_token.hpp>

#include <utility>

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

std::shared_ptr<CancelState> TokenNode::release() noexcept {
    if (state_ != nullptr) state_->list().remove(*this, callerId());
    return std::exchange(state_, nullptr);
}

// Releases the ancestors that it was the last to keep alive one after the other: their destructors would nest as deep
// as the tree. One that another thread keeps alive for a moment to cancel it may be detached from its parent here; it
// has no token and no other child, so nothing observes it.
CancelState::~CancelState() {
    std::shared_ptr<CancelState> parent = inParent_.release();
    while (parent != nullptr && parent.use_count() == 1) parent = parent->inParent_.release();
}

// A token that was cancelled before its state was shared has no callbacks yet.
void CancelState::follow(const std::shared_ptr<CancelState>& parent) noexcept {
    if (parent != nullptr && !inParent_.attach(parent)) list_.cancel(callerId(), [] {});
}

void CancelState::follow(std::stop_token token) noexcept {
    onStop_.emplace(std::move(token), OnStop{*this});
}

bool CancelState::cancel(CancelList::Caller caller) noexcept {
    if (!list_.begin(caller)) return false;
    for (CancelState* state = this;;) {
        CancelNode* const node = state->list_.takeFirst();
        if (node == nullptr) {
            if (state == this) return true;
            const std::shared_ptr<CancelState> ended = std::move(state->alive_);
            state = state->cancelledBy_;
        } else if (!node->makes(&InParent::call)) {
            node->make(caller);
        } else if (CancelState* const child = static_cast<InParent*>(node)->self.beginWith(*state, caller)) {
            state = child;
        }
    }
}

// Null: it has been cancelled already, or is being destroyed. The last token may be released meanwhile: if that was
// before, nothing observes the cancellation any more; if it is during the calls, `alive_` keeps the state until they
// have returned.
CancelState* CancelState::beginWith(CancelState& parent, CancelList::Caller caller) noexcept {
    std::shared_ptr<CancelState> alive = weak_from_this().lock();
    if (alive == nullptr || !list_.begin(caller)) return nullptr;
    alive_ = std::move(alive);
    cancelledBy_ = &parent;
    return this;
}

// Identifies the node; cancel() makes this call itself.
void CancelState::InParent::call(CancelNode&, std::uint64_t) noexcept {}

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
