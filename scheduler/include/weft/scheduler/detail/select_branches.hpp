// The branches of sync::select(), and how it waits for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_select.hpp>
#include <weft/scheduler/detail/fiber_queue.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/sync/broadcast.hpp>
#include <weft/scheduler/sync/notify.hpp>
#include <weft/scheduler/sync/watch.hpp>

namespace weft::detail {

using Select = BasicSelect<NativeSync>;

// What each kind of branch tells select(): `deadline` ends the wait, `waits` is false for `otherwise`, `enabled` is
// false if select() must leave it out. A branch is for one select(): it refers to its own members.
struct SelectBranch : Select::Branch {
    SelectBranch() = default;
    SelectBranch(const SelectBranch&) = delete;
    SelectBranch& operator=(const SelectBranch&) = delete;

    Deadline deadline = never;
    bool waits = true;
    bool enabled = true;

  protected:
    ~SelectBranch() = default;
};

template <class Queue, class F>
class ReceiveBranch final : public SelectBranch {
  public:
    ReceiveBranch(Queue& queue, F&& function) : queue_(queue.core_), function_(std::forward<F>(function)) {
        receiver_.out = &value_;
    }
    bool tryNow() override { return queue_.tryReceive(value_) != QueueStatus::wouldWait; }
    bool enlist(const WakeKey& key) override {
        receiver_.key = key;
        return queue_.enlist(receiver_);
    }
    void withdraw(bool ended) noexcept override { queue_.withdraw(receiver_, ended); }
    void run() { std::invoke(function_, std::move(value_)); }

  private:
    typename Queue::Core& queue_;
    F function_;
    std::optional<typename Queue::ValueType> value_;
    typename Queue::Core::Receiver receiver_;
};

template <class Queue, class F>
class SendBranch final : public SelectBranch {
  public:
    SendBranch(Queue& queue, typename Queue::ValueType& value, F&& function)
        : queue_(queue.core_), function_(std::forward<F>(function)) {
        sender_.value = &value;
    }
    bool tryNow() override {
        sender_.status = queue_.trySend(*sender_.value);
        return sender_.status != QueueStatus::wouldWait;
    }
    bool enlist(const WakeKey& key) override {
        sender_.key = key;
        sender_.status = QueueStatus::done;
        return queue_.enlist(sender_);
    }
    void withdraw(bool ended) noexcept override { queue_.withdraw(sender_, ended); }
    void run() { std::invoke(function_, sender_.status == QueueStatus::done); }

  private:
    typename Queue::Core& queue_;
    F function_;
    typename Queue::Core::Sender sender_;
};

template <class T, class F>
class DoneBranch final : public SelectBranch {
  public:
    DoneBranch(Future<T> future, F&& function) : future_(std::move(future)), function_(std::forward<F>(function)) {}
    bool tryNow() override { return future_.done(); }
    bool enlist(const WakeKey& key) override {
        waiter_.key = key;
        return future_.state_->enlist(waiter_);
    }
    void withdraw(bool) noexcept override { future_.state_->withdraw(waiter_); }
    void run() { std::invoke(function_, future_); }

  private:
    Future<T> future_;
    F function_;
    WaitList::Waiter waiter_;
};

template <class F>
class NotifyBranch final : public SelectBranch {
  public:
    NotifyBranch(sync::Notify& notify, sync::Notify::Ticket since, F&& function)
        : core_(notify.core_), since_(since), function_(std::forward<F>(function)) {}
    bool tryNow() override { return core_.isReady(since_.generation_); }
    bool enlist(const WakeKey& key) override {
        waiter_.key = key;
        return core_.enlist(waiter_, since_.generation_);
    }
    void withdraw(bool) noexcept override { core_.withdraw(waiter_); }
    void run() { std::invoke(function_); }

  private:
    BasicNotify<NativeSync>& core_;
    sync::Notify::Ticket since_;
    F function_;
    BasicNotify<NativeSync>::Waiter waiter_;
};

// For readers that are woken and then take the value themselves.
template <class T, class F>
class ReaderBranch : public SelectBranch {
  public:
    void run() {
        if (!complete_) static_cast<void>(this->tryNow());  // its key has ended the wait
        std::invoke(function_, std::move(value_));
    }

  protected:
    explicit ReaderBranch(F&& function) : function_(std::forward<F>(function)) {}
    ~ReaderBranch() = default;

    std::optional<T> value_;
    bool complete_ = false;

  private:
    F function_;
};

template <class T, class F>
class BroadcastBranch final : public ReaderBranch<T, F> {
  public:
    BroadcastBranch(sync::BroadcastReceiver<T>& receiver, F&& function)
        : ReaderBranch<T, F>(std::forward<F>(function)), receiver_(receiver) {}
    bool tryNow() override { return this->complete_ = receiver_.tryReceiveOr(this->value_); }
    bool enlist(const WakeKey& key) override {
        waiter_.key = key;
        return receiver_.core_->enlist(waiter_, receiver_.next_);
    }
    void withdraw(bool) noexcept override { receiver_.core_->withdraw(waiter_); }

  private:
    sync::BroadcastReceiver<T>& receiver_;
    typename BasicBroadcast<NativeSync, T>::Waiter waiter_;
};

template <class T, class F>
class ChangeBranch final : public ReaderBranch<T, F> {
  public:
    ChangeBranch(sync::WatchReader<T>& reader, F&& function)
        : ReaderBranch<T, F>(std::forward<F>(function)), reader_(reader) {}
    bool tryNow() override { return this->complete_ = reader_.core_->tryNext(reader_.seen_, this->value_); }
    bool enlist(const WakeKey& key) override {
        waiter_.key = key;
        return reader_.core_->enlist(waiter_, reader_.seen_);
    }
    void withdraw(bool) noexcept override { reader_.core_->withdraw(waiter_); }

  private:
    sync::WatchReader<T>& reader_;
    typename BasicWatch<NativeSync, T>::Waiter waiter_;
};

template <class F>
class DeadlineBranch final : public SelectBranch {
  public:
    DeadlineBranch(Deadline at, F&& function) : function_(std::forward<F>(function)) { deadline = at; }
    bool tryNow() override { return deadline != never && Clock::current().now() >= deadline; }
    bool enlist(const WakeKey&) override { return true; }
    void withdraw(bool) noexcept override {}
    void run() { std::invoke(function_); }

  private:
    F function_;
};

template <class F>
class OtherwiseBranch final : public SelectBranch {
  public:
    explicit OtherwiseBranch(F&& function) : function_(std::forward<F>(function)) { waits = false; }
    bool tryNow() override { return false; }
    bool enlist(const WakeKey&) override { return true; }
    void withdraw(bool) noexcept override {}
    void run() { std::invoke(function_); }

  private:
    F function_;
};

// The branch that is tried first.
enum class SelectOrder : std::uint8_t { atRandom, asGiven };

// Waits, and returns the index of the branch that is complete.
std::size_t selectOne(std::span<SelectBranch* const> branches, SelectOrder order, ErrorCode& error);

template <class... Branches>
std::size_t selectFrom(SelectOrder order, ErrorCode& error, Branches&&... branches) {
    static_assert(sizeof...(Branches) > 0 && sizeof...(Branches) <= Select::most);
    static_assert((!std::is_lvalue_reference_v<Branches> && ...),
                  "a branch is for one select(): make it in the call, as in select(onReceive(queue, function))");
    const std::array<SelectBranch*, sizeof...(Branches)> all{&branches...};
    const std::size_t chosen = selectOne(all, order, error);
    if (!error) {
        std::size_t index = 0;
        ((index++ == chosen ? branches.run() : void()), ...);
    }
    return chosen;
}

}  // namespace weft::detail
