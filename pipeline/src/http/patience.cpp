#include <weft/pipeline/http/patience.hpp>

#include <algorithm>
#include <utility>

#include <weft/pipeline/channel.hpp>

namespace weft::http::detail {

namespace {

// What a look misses is at most this part of the limit.
constexpr int lookPart = 10;
constexpr Duration forEver = Duration::max();

Duration orForEver(Duration limit) noexcept {
    return limit == Duration::zero() ? forEver : limit;
}

Duration intervalOf(const ServerTimeouts& limits) noexcept {
    const Duration shortest = std::min(orForEver(limits.idle), orForEver(limits.stall));
    return shortest == forEver ? forEver : shortest / lookPart;
}

}  // namespace

Patience::Patience(const ServerTimeouts& limits) : limits_(limits), interval_(intervalOf(limits)) {
    limits.validate();
}

void Patience::begin(Channel& channel) {
    channel_ = &channel;
    idleSince_ = stalledSince_ = since_ = channel.loop().clock().now();
    wait_ = Wait::first;
    lookBy(std::min(deadlineAfter(since_, interval_), endOfWait()));
}

// The first head of a connection has been waited for since the connection began.
void Patience::awaitHead() {
    if (wait_ != Wait::first) return await(Wait::head);
    wait_ = Wait::head;
    lookBy(endOfWait());
}

void Patience::end() noexcept {
    timer_.cancel();
    channel_ = nullptr;
    wait_ = Wait::none;
    nextLook_ = never;
}

void Patience::await(Wait what) {
    if (channel_ == nullptr) return;
    wait_ = what;
    holding_ = false;
    bodyBytes_ = 0;
    since_ = channel_->loop().clock().now();
    lookBy(endOfWait());
}

void Patience::satisfied() {
    if (channel_ == nullptr) return;
    wait_ = Wait::none;
    holding_ = false;
    lookBy(deadlineAfter(channel_->loop().clock().now(), interval_));
}

void Patience::holdBreath() noexcept {
    if (channel_ == nullptr || holding_ || wait_ == Wait::idle) return;
    holding_ = true;
    heldSince_ = channel_->loop().clock().now();
}

void Patience::breathe() {
    if (!std::exchange(holding_, false)) return;
    since_ += channel_->loop().clock().now() - heldSince_;
    lookBy(endOfWait());
}

Deadline Patience::endOfWait() const noexcept {
    if (holding_) return never;
    if (wait_ == Wait::head) return deadlineAfter(since_, orForEver(limits_.head));
    if (wait_ == Wait::first) return deadlineAfter(since_, std::min(orForEver(limits_.head), orForEver(limits_.idle)));
    if (wait_ != Wait::body || limits_.body == Duration::zero()) return never;
    const std::uint64_t more = limits_.bodyRate == 0 ? 0 : bodyBytes_ / limits_.bodyRate;
    constexpr std::uint64_t most = 100'000'000;  // seconds: three years
    return deadlineAfter(deadlineAfter(since_, limits_.body), std::chrono::seconds(std::min(more, most)));
}

Deadline Patience::endOfIdleness() const noexcept {
    return deadlineAfter(idleSince_, orForEver(limits_.idle));
}

std::optional<Impatience> Patience::look(const Situation& situation) {
    if (channel_ == nullptr) return std::nullopt;
    const TimePoint now = channel_->loop().clock().now();
    nextLook_ = never;
    if (!situation.reading) holdBreath();
    const auto verdict = judge(situation, now);
    if (!verdict) lookBy(wait_ == Wait::idle ? endOfIdleness() : std::min(deadlineAfter(now, interval_), endOfWait()));
    return verdict;
}

std::optional<Impatience> Patience::judge(const Situation& situation, TimePoint now) noexcept {
    const Situation before = std::exchange(last_, situation);
    if (now >= endOfWait()) {
        if (wait_ == Wait::first) return Impatience::idle;
        return wait_ == Wait::head ? Impatience::head : Impatience::body;
    }

    if (!situation.pending || !before.pending || situation.written != before.written) stalledSince_ = now;
    if (now >= deadlineAfter(stalledSince_, orForEver(limits_.stall))) return Impatience::stalled;

    if (wait_ == Wait::first || wait_ == Wait::head || wait_ == Wait::body) return std::nullopt;
    const auto quiet = [](const Situation& at) { return !at.unanswered && !at.pending && at.reading; };
    const bool still = situation.requests == before.requests && quiet(before) && quiet(situation);
    wait_ =
        still ? Wait::idle : Wait::none;  // what comes from now on is reported, so that the next look may be the last
    if (!still) idleSince_ = now;
    if (now >= endOfIdleness()) return Impatience::idle;
    return std::nullopt;
}

void Patience::lookBy(Deadline at) {
    if (at >= nextLook_) return;
    timer_.cancel();
    EventLoop& loop = channel_->loop();
    timer_ = loop.schedule(
        [channel = ChannelRef(*channel_)] { channel->pipeline().fireUserEventTriggered(Message(PatienceLook{})); },
        at - loop.clock().now());
    nextLook_ = at;
}

}  // namespace weft::http::detail
