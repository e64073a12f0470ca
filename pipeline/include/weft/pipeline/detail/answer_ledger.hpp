// AnswerLedger: which requests of a channel have no answer yet. It tells the codec of those that can get none any more.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace weft {
class Channel;
class ChannelHandlerContext;
}  // namespace weft

namespace weft::detail {

// A codec's ledger, while it is that of its channel. Requests have numbers in the order of their arrival, from 1 for
// the first of the channel: a codec that follows another goes on counting. A request, or the right to answer it, that
// is destroyed calls end(): usually it has been answered, and one comparison tells. Context: the channel's loop, except
// end().
class AnswerLedger {
  public:
    using Number = std::uint64_t;

    // The ledger becomes that of the channel, after any other one. Precondition: no request has arrived.
    void join(Channel& channel) noexcept;
    // Another one may have joined since. Allocates; without memory a successor counts from 1.
    void leave(Channel& channel) noexcept;

    // False: the request has been answered. True for the others that have arrived; some may have been answered.
    bool isOpen(Number request) const noexcept { return request >= firstOpen_; }

    // How a request ended without an answer.
    struct Drop {
        Number request;
        const ChannelHandlerContext* taker;  // the handler that had it, which may be gone; null: unknown
        const std::string* untakenAfter;     // at the tail: the last handler that passed it on; null: dropped elsewhere
    };
    // Nothing else can answer the request, except its handler while it is being delivered. What it throws closes the
    // channel.
    virtual void dropped(const Drop& drop) = 0;

    // A request has ended, and no other object has the right to answer it; `taker` as in Drop. Fast if it was answered,
    // inside the pipeline of its channel. Otherwise tells the ledger of `channel`, if it has one, the channel is open
    // and the request is: at once on the loop, elsewhere by a task. Context: any thread.
    static void end(Channel& channel, Number request, const ChannelHandlerContext* taker) noexcept;

    // While it exists, requests that are dropped count as untaken: the tail of the pipeline destroys a message.
    class Untaken {
      public:
        // `ledger` may be null. Lifetime: both outlive this object.
        Untaken(AnswerLedger* ledger, const std::string& lastReader) noexcept : ledger_(ledger) {
            if (ledger_ != nullptr) ledger_->untakenAfter_ = &lastReader;
        }
        ~Untaken() {
            if (ledger_ != nullptr) ledger_->untakenAfter_ = nullptr;
        }
        Untaken(const Untaken&) = delete;
        Untaken& operator=(const Untaken&) = delete;

      private:
        AnswerLedger* const ledger_;
    };

  protected:
    ~AnswerLedger() = default;

    Number firstOpen_ = 1;
    Number next_ = 1;  // of the next request

  private:
    static void dropHere(Channel& channel, Number request, const ChannelHandlerContext* taker) noexcept;

    const std::string* untakenAfter_ = nullptr;  // of the Untaken that exists, except inside dropped()
};

}  // namespace weft::detail
