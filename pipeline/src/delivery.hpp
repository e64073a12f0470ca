// Delivery: one call of a handler's channelRead() or write() with a message. Tracks the message and detects whether the
// handler lets it die unseen. Does nothing in builds without leak detection.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/pipeline/detail/message_watch.hpp>

namespace weft {

class ChannelHandlerContext;
class ChannelPromise;

namespace detail {

#if WEFT_LEAK_DETECTION

// Context: inside a pipeline entry, so nothing suspends between construction and destruction. Deliveries nest with the
// calls.
class Delivery {
  public:
    // `promise` is null for channelRead().
    Delivery(ChannelHandlerContext& receiver, const Message& message, const ChannelPromise* promise) noexcept;
    ~Delivery();
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    // The handler that holds the message passes it on.
    static void passedOn(const Message& message) noexcept;
    // The handler threw: its exception reports the loss of the message.
    static void handlerThrew(const ChannelHandlerContext& handler) noexcept;

  private:
    friend void messageUsed(const Message& message) noexcept;
    friend void messageMoved(const Message& from, const Message& to) noexcept;
    friend void messageEnded(const Message& message) noexcept;

    enum class Outcome : unsigned char { open, seen, dropped };

    void note(const Message& message) const;
    void leavesHandlers(const Message& message) const noexcept;
    void settle() noexcept;
    void reportDrop() const noexcept;

    ChannelHandlerContext& receiver_;
    const ChannelPromise* const promise_;
    const Message* const original_;
    const Message* place_ = nullptr;  // where the message is now; null: it has ended or been passed on
    Outcome outcome_ = Outcome::open;
    bool watched_ = false;
    std::string_view type_;
    std::size_t bytes_ = 0;
    Delivery* outer_ = nullptr;
};

#else

class Delivery {
  public:
    Delivery(ChannelHandlerContext&, const Message&, const ChannelPromise*) noexcept {}
    static void passedOn(const Message&) noexcept {}
    static void handlerThrew(const ChannelHandlerContext&) noexcept {}
};

#endif

}  // namespace detail
}  // namespace weft
