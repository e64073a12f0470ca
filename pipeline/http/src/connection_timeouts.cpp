#include <weft/http/detail/connection_timeouts.hpp>

#include <algorithm>
#include <utility>

#include <weft/pipeline/channel.hpp>

namespace weft::http::detail {

namespace {

// A check is late by at most one tenth of the limit.
constexpr int latePart = 10;
constexpr Duration unlimited = Duration::max();

Duration orUnlimited(Duration limit) noexcept {
    return limit == Duration::zero() ? unlimited : limit;
}

}  // namespace

ConnectionTimeouts::ConnectionTimeouts(const ServerTimeouts& limits) : limits_(limits) {
    limits.validate();
}

// Between the checks of a busy connection.
Duration ConnectionTimeouts::interval() const noexcept {
    const Duration shortest = std::min(orUnlimited(limits_.idle), orUnlimited(limits_.stall));
    return shortest == unlimited ? unlimited : shortest / latePart;
}

void ConnectionTimeouts::begin(Channel& channel) {
    channel_ = &channel;
    idleSince_ = stalledSince_ = since_ = channel.loop().clock().now();
    wait_ = Wait::first;
    checkBy(std::min(deadlineAfter(since_, interval()), endOfWait()));
}

// The limit for a connection's first head counts from the beginning of the connection.
void ConnectionTimeouts::awaitHead() {
    if (wait_ != Wait::first) return await(Wait::head);
    wait_ = Wait::head;
    checkBy(endOfWait());
}

void ConnectionTimeouts::end() noexcept {
    timer_.cancel();
    channel_ = nullptr;
    wait_ = Wait::none;
    nextCheck_ = never;
}

void ConnectionTimeouts::await(Wait what) {
    if (channel_ == nullptr) return;
    wait_ = what;
    paused_ = false;
    bodyBytes_ = 0;
    since_ = channel_->loop().clock().now();
    checkBy(endOfWait());
}

void ConnectionTimeouts::satisfied() {
    if (channel_ == nullptr) return;
    wait_ = Wait::none;
    paused_ = false;
    checkBy(deadlineAfter(channel_->loop().clock().now(), interval()));
}

void ConnectionTimeouts::pause() noexcept {
    if (channel_ == nullptr || paused_ || wait_ == Wait::idle) return;
    paused_ = true;
    pausedAt_ = channel_->loop().clock().now();
}

void ConnectionTimeouts::resume() {
    if (!std::exchange(paused_, false)) return;
    since_ += channel_->loop().clock().now() - pausedAt_;
    checkBy(endOfWait());
}

Deadline ConnectionTimeouts::endOfWait() const noexcept {
    if (paused_) return never;
    if (wait_ == Wait::head) return deadlineAfter(since_, orUnlimited(limits_.head));
    if (wait_ == Wait::first)
        return deadlineAfter(since_, std::min(orUnlimited(limits_.head), orUnlimited(limits_.idle)));
    if (wait_ != Wait::body || limits_.body == Duration::zero()) return never;
    const std::uint64_t more = limits_.bodyRate == 0 ? 0 : bodyBytes_ / limits_.bodyRate;
    constexpr std::uint64_t most = 100'000'000;  // seconds: three years
    return deadlineAfter(deadlineAfter(since_, limits_.body), std::chrono::seconds(std::min(more, most)));
}

Deadline ConnectionTimeouts::endOfIdleness() const noexcept {
    return deadlineAfter(idleSince_, orUnlimited(limits_.idle));
}

std::optional<TimeoutKind> ConnectionTimeouts::check(const Activity& activity) {
    if (channel_ == nullptr) return std::nullopt;
    const TimePoint now = channel_->loop().clock().now();
    nextCheck_ = never;
    if (!activity.reading) pause();
    const auto exceeded = evaluate(activity, now);
    if (!exceeded)
        checkBy(wait_ == Wait::idle ? endOfIdleness() : std::min(deadlineAfter(now, interval()), endOfWait()));
    return exceeded;
}

std::optional<TimeoutKind> ConnectionTimeouts::evaluate(const Activity& activity, TimePoint now) noexcept {
    const bool quiet = !activity.unanswered && !activity.pending && activity.reading;
    const bool stalled = activity.pending && pendingBefore_ && activity.written == writtenBefore_;
    const bool still = quiet && quietBefore_ && activity.requests == requestsBefore_;
    pendingBefore_ = activity.pending;
    quietBefore_ = quiet;
    requestsBefore_ = activity.requests;
    writtenBefore_ = activity.written;
    if (now >= endOfWait()) {
        if (wait_ == Wait::first) return TimeoutKind::idle;
        return wait_ == Wait::head ? TimeoutKind::head : TimeoutKind::body;
    }

    if (!stalled) stalledSince_ = now;
    if (now >= deadlineAfter(stalledSince_, orUnlimited(limits_.stall))) return TimeoutKind::stalled;

    if (wait_ == Wait::first || wait_ == Wait::head || wait_ == Wait::body) return std::nullopt;
    wait_ = still ? Wait::idle : Wait::none;  // arrivals are reported from now on, so the next check may be the last
    if (!still) idleSince_ = now;
    if (now >= endOfIdleness()) return TimeoutKind::idle;
    return std::nullopt;
}

void ConnectionTimeouts::checkBy(Deadline at) {
    if (at >= nextCheck_) return;
    timer_.cancel();
    EventLoop& loop = channel_->loop();
    timer_ = loop.schedule(
        [channel = ChannelRef(*channel_)] { channel->pipeline().fireUserEventTriggered(Message(TimeoutCheck{})); },
        at - loop.clock().now());
    nextCheck_ = at;
}

}  // namespace weft::http::detail
