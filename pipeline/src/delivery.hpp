// Delivery: one message in the hands of one handler, from the call of channelRead() or write() until it returns.
// Follows the message and finds out whether the handler let it die unseen. Nothing in builds without leak detection.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/pipeline/detail/message_watch.hpp>

namespace weft {

class ChannelHandlerContext;
class ChannelPromise;
class Message;

namespace detail {

#if WEFT_LEAK_DETECTION

// Context: inside a pipeline entry, so nothing suspends between construction and destruction. Nested as the calls are.
class Delivery {
  public:
    // `promise` is null for channelRead().
    Delivery(ChannelHandlerContext& receiver, const Message& message, const ChannelPromise* promise) noexcept;
    ~Delivery();
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    // Whoever has the message hands it to somebody else.
    static void passedOn(const Message& message) noexcept;
    // What a throwing handler drops is told by its exception.
    static void handlerThrew(const ChannelHandlerContext& handler) noexcept;

  private:
    friend void messageUsed(const Message& message) noexcept;
    friend void messageMoved(const Message& from, const Message& to) noexcept;
    friend void messageEnded(const Message& message) noexcept;

    enum class Fate : unsigned char { open, seen, dropped };

    void watch(const Message& message) noexcept;
    void note(const Message& message) const;
    void leavesHandlers(const Message& message) const noexcept;
    void settle() noexcept;
    void reportDrop() const noexcept;

    ChannelHandlerContext& receiver_;
    const ChannelPromise* const promise_;
    const Message* const given_;
    const Message* place_ = nullptr;  // where the message is now; null: it has ended, or is in other hands
    Fate fate_ = Fate::open;
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
