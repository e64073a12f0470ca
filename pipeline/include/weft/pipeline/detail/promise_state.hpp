// PromiseState: the state that a ChannelPromise and its ChannelFutures share. Pooled and reference-counted. That of the
// close future is a member of the channel; references to it count as references to the channel.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/detail/completion.hpp>
#include <weft/scheduler/detail/reference_count.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/unique_function.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft {

class EventLoop;
class ChannelFuture;

// Transitions (F-1): pending -> success | failure | cancelled; pending -> uncancellable -> success | failure.
enum class PromiseStatus : std::uint8_t { pending, uncancellable, success, failure, cancelled };

namespace detail {

constexpr bool isDone(PromiseStatus status) noexcept {
    return status >= PromiseStatus::success;
}

// Context: any thread. Calls no listener while the completion's lock is held.
class PromiseState {
  public:
    using Listener = UniqueFunction<void(const ChannelFuture&)>;
    static constexpr unsigned maxNestedNotifications = 8;  // deeper ones become tasks (F-2): stack protection

    // A separate state. `channel` may be null. If `loop` is null, listeners run on the thread that completes the state
    // or, once it is final, on the thread that adds them.
    static PromiseState* create(Channel* channel, EventLoop* loop);
    // For an operation whose channel does not exist yet: trySuccess(channel) sets it. Listeners run on `loop`, which
    // the state keeps as a channel does.
    static PromiseState* createEarly(EventLoop& loop);
    // A member of `owner`: shares its reference count and holds no reference of its own.
    PromiseState(Channel& owner, EventLoop& loop) noexcept : inChannel_(true), channel_(&owner), loop_(&loop) {}
    PromiseState(const PromiseState&) = delete;
    PromiseState& operator=(const PromiseState&) = delete;
    ~PromiseState();

    void retain() noexcept;
    void release() noexcept;

    // Once it returns a final status, cause_ may be read.
    PromiseStatus status() const noexcept { return completion_.status(); }
    std::exception_ptr cause() const;
    ErrorCode error() const;
    ChannelRef channelRef() const noexcept { return channel() ? ChannelRef(*channel()) : ChannelRef(); }
    Channel* channel() const noexcept { return !early_ || status() == PromiseStatus::success ? channel_ : nullptr; }
    bool isCloseFuture() const noexcept { return inChannel_; }

    // The try functions return false when the status is final or, for tryCancel(), uncancellable. A close future cannot
    // be cancelled. setUncancellable() returns false only when the status is `cancelled`.
    bool trySuccess() { return finish(PromiseStatus::success, nullptr); }
    bool trySuccess(Channel& channel) { return finish(PromiseStatus::success, nullptr, &channel); }  // createEarly()
    bool tryFailure(std::exception_ptr cause) { return finish(PromiseStatus::failure, std::move(cause)); }
    bool tryCancel() { return finish(PromiseStatus::cancelled, nullptr); }
    bool setUncancellable() noexcept;

    // Once the loop has ended, destroys the listener instead of calling it.
    void listen(Listener listener);
    // Waits until the status is final; false when `deadline` passes first. Throws as ChannelFuture::await().
    bool awaitUntil(Deadline deadline, const char* call);

  private:
    struct Early;
    class Notification;

    PromiseState(Channel* channel, EventLoop* loop, bool early = false) noexcept;

    bool finish(PromiseStatus outcome, std::exception_ptr cause, Channel* made = nullptr);
    void notify() noexcept;
    void runListeners() noexcept;
    void dropListeners() noexcept;
    bool mayNotifyHere() const noexcept;
    void notifyLater() noexcept;

    using Completion = BasicOrderedCompletion<NativeAtomics, PromiseStatus::success, Listener, WaitList>;

    BasicReferenceCount<NativeAtomics> references_;
    const bool inChannel_ = false;
    const bool early_ = false;
    Channel* channel_;  // createEarly(): written before the state becomes final
    EventLoop* const loop_;
    std::exception_ptr cause_;  // written before the state becomes final
    Completion completion_;
};

// A counted pointer to a PromiseState.
class PromiseStateRef {
  public:
    PromiseStateRef() noexcept = default;
    static PromiseStateRef adopt(PromiseState* state) noexcept {
        PromiseStateRef ref;
        ref.state_ = state;
        return ref;
    }
    PromiseStateRef(const PromiseStateRef& other) noexcept : state_(other.state_) {
        if (state_) state_->retain();
    }
    PromiseStateRef(PromiseStateRef&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    PromiseStateRef& operator=(const PromiseStateRef& other) noexcept { return *this = PromiseStateRef(other); }
    PromiseStateRef& operator=(PromiseStateRef&& other) noexcept {
        PromiseState* former = std::exchange(state_, std::exchange(other.state_, nullptr));
        if (former) former->release();
        return *this;
    }
    ~PromiseStateRef() {
        if (state_) state_->release();
    }
    PromiseState* operator->() const noexcept { return state_; }
    PromiseState* get() const noexcept { return state_; }
    explicit operator bool() const noexcept { return state_ != nullptr; }
    friend bool operator==(const PromiseStateRef& left, const PromiseStateRef& right) noexcept {
        return left.state_ == right.state_;
    }

  private:
    PromiseState* state_ = nullptr;
};

}  // namespace detail
}  // namespace weft
