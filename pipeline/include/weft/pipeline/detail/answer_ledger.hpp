// AnswerLedger: which requests of a channel have no answer yet, and who learns that nobody can give one any more.
#pragma once

#include <cstdint>
#include <string>

namespace weft {
class Channel;
class ChannelHandlerContext;
}  // namespace weft

namespace weft::detail {

// A codec sets its ledger in its channel. Requests have numbers in the order of their arrival, from 1. A request, or
// the right to answer it, that is destroyed calls drop(): usually it has been answered, and one comparison tells.
// Context: the channel's loop, except end() and drop().
class AnswerLedger {
  public:
    using Number = std::uint64_t;

    // False: the request has been answered. True for the others that have arrived; some may have been answered.
    bool isOpen(Number request) const noexcept { return request >= firstOpen_; }

    // How a request ended without an answer.
    struct Drop {
        Number request;
        const ChannelHandlerContext* taker = nullptr;  // the handler that had it, if known
        const std::string* untakenAfter = nullptr;     // at the tail: the last handler that passed it on
    };
    // Nothing else can answer the request, except its handler while it is being delivered. Throws anything.
    virtual void dropped(const Drop& drop) = 0;

    // A request has ended, and no other object has the right to answer it; `taker` as in Drop. Fast if it was answered,
    // inside the pipeline of its channel. Context: any thread.
    static void end(Channel& channel, Number request, const ChannelHandlerContext* taker) noexcept;
    // Tells the ledger of `channel`, if it has one, the channel is open and the request is: at once on the loop,
    // elsewhere by a task. Context: any thread.
    static void drop(Channel& channel, const Drop& drop) noexcept;

  protected:
    ~AnswerLedger() = default;

    Number firstOpen_ = 1;
};

}  // namespace weft::detail
