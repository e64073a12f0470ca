#include "delivery.hpp"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/log.hpp>

#include "leak_registry.hpp"

#if WEFT_LEAK_DETECTION

namespace weft::detail {

namespace {

// The innermost delivery on this thread. No fiber suspends inside one, so it cannot continue on another thread.
constinit thread_local Delivery* innermost = nullptr;

constexpr const char* outOfMemory = "out of memory while tracking messages for leaks";

std::string typeOf(const ChannelHandler& handler) {
    const char* mangled = typeid(handler).name();
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 ? name.get() : mangled;
}

HandlerPlace placeOf(const ChannelHandlerContext& context) {
    return {"'" + context.name() + "' (" + typeOf(context.handler()) + ")", context.channel().id()};
}

// All connections of a server have the same fault, so it is reported once.
bool isFirst(const ChannelHandler& handler, std::string_view messageType, bool outbound) {
    static std::mutex lock;
    static auto& reported = *new std::set<std::pair<std::type_index, std::pair<std::string, bool>>>;
    const std::lock_guard held(lock);
    return reported.emplace(typeid(handler), std::pair(std::string(messageType), outbound)).second;
}

}  // namespace

[[gnu::noinline]] Delivery::Delivery(ChannelHandlerContext& receiver, const Message& message,
                                     const ChannelPromise* promise) noexcept
    : receiver_(receiver), promise_(promise), original_(&message) {
    if (message.empty() || leakLevel() == LeakDetection::off) return;
    // The head and the tail log themselves what they drop.
    const bool isEnd = &receiver.type_ == &headType || &receiver.type_ == &tailType;
    if (isEnd) {
        if (LeakRegistry::watching()) leavesHandlers(message);
        return;
    }
    try {
        if (LeakRegistry::watching()) note(message);
    } catch (...) {
        log(LogLevel::warning, outOfMemory);
    }
    watched_ = true;
    place_ = &message;
    type_ = message.typeName();
    bytes_ = message.estimatedBytes();
    outer_ = std::exchange(innermost, this);
}

// The message has left the handlers, for the transport or for the tail.
void Delivery::leavesHandlers(const Message& message) const noexcept {
    LeakRegistry& registry = LeakRegistry::instance();
    if (promise_ && !promise_->isVoid()) registry.ended(LeakRegistry::promises, promise_->state_.get());
    if (message.is<Buffer>()) registry.ended(LeakRegistry::buffers, storageOf(message.get<Buffer>()));
}

// A block that several Buffers share counts where it was seen last.
void Delivery::note(const Message& message) const {
    LeakRegistry& registry = LeakRegistry::instance();
    const HandlerPlace place = placeOf(receiver_);
    if (promise_ && !promise_->isVoid()) registry.given(LeakRegistry::promises, promise_->state_.get(), place);
    if (!message.is<Buffer>()) return;
    const Buffer& buffer = message.get<Buffer>();
    if (const void* block = storageOf(buffer)) registry.given(LeakRegistry::buffers, block, place, buffer.capacity());
}

[[gnu::noinline]] Delivery::~Delivery() {
    if (!watched_) return;
    innermost = outer_;
    const bool leftInPlace = place_ == original_;  // the caller releases it next
    if (leftInPlace && outcome_ == Outcome::open) outcome_ = Outcome::dropped;
    const bool answered = promise_ && !promise_->isVoid() && promise_->done();
    if (outcome_ == Outcome::dropped && !answered) reportDrop();
    if (!place_ || leftInPlace || !LeakRegistry::watching()) return;
    try {
        LeakRegistry::instance().given(LeakRegistry::messages, place_, placeOf(receiver_));
    } catch (...) {
        log(LogLevel::warning, outOfMemory);
    }
}

void Delivery::settle() noexcept {
    outcome_ = Outcome::seen;
    place_ = nullptr;
}

void Delivery::reportDrop() const noexcept {
    countDropped();
    try {
        const bool outbound = promise_ != nullptr;
        if (!isFirst(receiver_.handler(), type_, outbound)) return;
        const HandlerPlace place = placeOf(receiver_);
        const bool isBuffer = type_ == messageTypeOf<Buffer>.name;
        const std::string size = isBuffer ? " of " + std::to_string(bytes_) + " bytes" : "";
        const bool waits = outbound && !promise_->isVoid();
        log(LogLevel::warning,
            {"handler ", place.handler, " of channel ", std::to_string(place.channel), " dropped an ",
             outbound ? "outbound " : "inbound ", type_, size, " without reading it",
             waits ? "; its promise stays pending, so code that waits for the write waits forever" : "",
             outbound ? ": to pass it on, call ctx.write(std::move(message), std::move(promise))"
                      : ": to pass it on, call ctx.fireChannelRead(std::move(message))",
             "; to drop it on purpose, call message.reset() (reported once per handler and message type)"});
    } catch (...) {
        log(LogLevel::warning, outOfMemory);
    }
}

[[gnu::noinline]] void Delivery::passedOn(const Message& message) noexcept {
    for (Delivery* delivery = innermost; delivery; delivery = delivery->outer_) {
        if (delivery->place_ == &message) delivery->settle();
    }
    if (LeakRegistry::watching()) LeakRegistry::instance().ended(LeakRegistry::messages, &message);
}

[[gnu::noinline]] void Delivery::handlerThrew(const ChannelHandlerContext& handler) noexcept {
    if (innermost && &innermost->receiver_ == &handler) innermost->settle();
}

[[gnu::noinline]] void messageUsed(const Message& message) noexcept {
    for (Delivery* delivery = innermost; delivery; delivery = delivery->outer_) {
        if (delivery->place_ == &message) delivery->outcome_ = Delivery::Outcome::seen;
    }
}

[[gnu::noinline]] void messageMoved(const Message& from, const Message& to) noexcept {
    for (Delivery* delivery = innermost; delivery; delivery = delivery->outer_) {
        if (delivery->place_ == &from) {
            delivery->place_ = &to;
        } else if (delivery->place_ == &to) {
            delivery->settle();  // another thread has moved the message away from there
        }
    }
    if (LeakRegistry::watching()) LeakRegistry::instance().messageMoved(&from, &to);
}

[[gnu::noinline]] void messageEnded(const Message& message) noexcept {
    for (Delivery* delivery = innermost; delivery; delivery = delivery->outer_) {
        if (delivery->place_ != &message) continue;
        if (delivery->outcome_ == Delivery::Outcome::open) delivery->outcome_ = Delivery::Outcome::dropped;
        delivery->place_ = nullptr;
    }
    if (LeakRegistry::watching()) LeakRegistry::instance().ended(LeakRegistry::messages, &message);
}

}  // namespace weft::detail

#else

namespace weft::detail {

// For code built with leak detection that is linked with a library built without it.
void messageUsed(const Message&) noexcept {}
void messageMoved(const Message&, const Message&) noexcept {}
void messageEnded(const Message&) noexcept {}

}  // namespace weft::detail

#endif
