// sync::select: waits for the first of several things: values of queues and cells, futures, notifications, deadlines.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <weft/scheduler/detail/select_branches.hpp>

namespace weft::sync {

// The branches of select(). Each function is called, after the wait, if its branch was chosen.
//     onReceive(queue, [](std::optional<T> value) {})   a value, or none if the queue is closed and empty; also of a
//                                                       Oneshot or a BroadcastReceiver
//     onChange(reader, [](std::optional<T> value) {})   the latest value of a Watch, or none if it is closed
//     onSend(queue, value, [](bool sent) {})            moves from `value` if it is sent; false: the queue is closed
//     onDone(future, [](const Future<T>& future) {})    the future is complete
//     onNotify(notify, [] {})                           a notification; with a ticket, also one after it
//     onDeadline(deadline, [] {})                       the deadline has passed
//     otherwise([] {})                                  no other branch is ready; select() then does not wait
//     when(condition, branch)                           the branch; if the condition is false, select() leaves it out.
//                                                       For queues that are closed: they are always ready
template <class Queue, class F>
[[nodiscard]] auto onReceive(Queue& queue, F&& function) {
    return detail::ReceiveBranch<Queue, F>(queue, std::forward<F>(function));
}
template <class T, class F>
[[nodiscard]] auto onReceive(BroadcastReceiver<T>& receiver, F&& function) {
    return detail::BroadcastBranch<T, F>(receiver, std::forward<F>(function));
}
template <class T, class F>
[[nodiscard]] auto onChange(WatchReader<T>& reader, F&& function) {
    return detail::ChangeBranch<T, F>(reader, std::forward<F>(function));
}
template <class Queue, class F>
[[nodiscard]] auto onSend(Queue& queue, typename Queue::ValueType& value, F&& function) {
    static_assert(Queue::senderWaits, "onSend() is for a BoundedQueue: no other send() waits, so call send()");
    return detail::SendBranch<Queue, F>(queue, value, std::forward<F>(function));
}
template <class T, class F>
[[nodiscard]] auto onDone(Future<T> future, F&& function) {
    return detail::DoneBranch<T, F>(std::move(future), std::forward<F>(function));
}
template <class F>
[[nodiscard]] auto onNotify(Notify& notify, F&& function) {
    return detail::NotifyBranch<F>(notify, notify.ticket(), std::forward<F>(function));
}
template <class F>
[[nodiscard]] auto onNotify(Notify& notify, Notify::Ticket since, F&& function) {
    return detail::NotifyBranch<F>(notify, since, std::forward<F>(function));
}
template <class F>
[[nodiscard]] auto onDeadline(Deadline deadline, F&& function) {
    return detail::DeadlineBranch<F>(deadline, std::forward<F>(function));
}
template <class F>
[[nodiscard]] auto otherwise(F&& function) {
    return detail::OtherwiseBranch<F>(std::forward<F>(function));
}
template <std::derived_from<detail::SelectBranch> Branch>
[[nodiscard]] Branch&& when(bool enabled, Branch&& branch) {
    static_assert(!std::is_lvalue_reference_v<Branch>);
    branch.enabled = enabled;
    return std::forward<Branch>(branch);
}

// Waits until one of the branches is ready, completes exactly that one, calls its function and returns its index. The
// others are as if they had not been there: no value is taken from their queues, and theirs are not sent. Of several
// that are ready, it takes one at random. If the fiber is cancelled during the wait or its carrier shuts down, the
// first form throws SystemError(operation_aborted), the second sets `error`; no function is then called.
//     const auto since = stop.ticket();  // a stop that comes between two calls is not lost
//     while (open) {
//         sync::select(sync::onReceive(jobs, [&](std::optional<Job> job) { open = job && run(*job); }),
//                      sync::onNotify(stop, since, [&] { open = false; }),
//                      sync::onDeadline(idle, [&] { open = false; }));
//     }
// A loop in which a branch is always ready must call thisFiber::yieldIfDue(). Context: a fiber or a plain thread. Where
// nothing may block, a branch that is ready is taken, and otherwise both throw BlockingOperationException. Never
// allocates. An exception of the function reaches the caller. Every object must live until the call returns. At least
// one branch must be enabled (see when()); else an assertion fails.
template <class... Branches>
std::size_t select(Branches&&... branches) {
    ErrorCode error;
    const std::size_t chosen =
        detail::selectFrom(detail::SelectOrder::atRandom, error, std::forward<Branches>(branches)...);
    detail::throwOnError(error, "sync::select");
    return chosen;
}
template <class... Branches>
std::size_t select(ErrorCode& error, Branches&&... branches) {
    return detail::selectFrom(detail::SelectOrder::atRandom, error, std::forward<Branches>(branches)...);
}
// As select(), but of several that are ready it takes the first in the order of the arguments.
template <class... Branches>
std::size_t selectInOrder(Branches&&... branches) {
    ErrorCode error;
    const std::size_t chosen =
        detail::selectFrom(detail::SelectOrder::asGiven, error, std::forward<Branches>(branches)...);
    detail::throwOnError(error, "sync::select");
    return chosen;
}

}  // namespace weft::sync
