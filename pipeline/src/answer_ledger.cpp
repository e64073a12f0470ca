#include <weft/pipeline/detail/answer_ledger.hpp>

#include <new>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/limited_log.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "current_channel.hpp"
#include "enters_loop.hpp"
#include "pipeline_entry.hpp"

namespace weft::detail {

namespace {

// The client waits for an answer that cannot be given, usually for lack of memory.
void closeUnanswered(Channel& channel) noexcept {
    try {
        log(LogLevel::error, {"a request was dropped without an answer, and its codec failed: ",
                              describe(std::current_exception()), "; the connection is closed"});
        channel.close();
    } catch (...) {
        log(LogLevel::error, "there was no memory to answer a dropped request, nor to close its connection");
    }
}

// The number of the next request, once a codec with requests has left.
constinit AttributeKey<AnswerLedger::Number> nextRequest;

}  // namespace

void AnswerLedger::join(Channel& channel) noexcept {
    if (channel.ledger() != nullptr) {
        firstOpen_ = next_ = channel.ledger()->next_;
    } else if (channel.hasAttr(nextRequest)) {
        firstOpen_ = next_ = channel.attr(nextRequest);
    }
    channel.setLedger(this);
}

void AnswerLedger::leave(Channel& channel) noexcept {
    if (channel.ledger() != this) return;
    channel.setLedger(nullptr);
    if (next_ == 1 || !channel.open()) return;
    try {
        channel.attr(nextRequest) = next_;
    } catch (const std::bad_alloc&) {
    }
}

void AnswerLedger::dropHere(Channel& channel, Number request, const ChannelHandlerContext* taker) noexcept {
    try {
        PipelineEntry entry(channel);
        AnswerLedger* const ledger = channel.open() ? channel.ledger() : nullptr;
        if (ledger == nullptr || !ledger->isOpen(request)) return;
        // What the codec does now may deliver, and drop, other requests.
        const std::string* const untakenAfter = std::exchange(ledger->untakenAfter_, nullptr);
        ledger->dropped({request, taker, untakenAfter});
        ledger->untakenAfter_ = untakenAfter;
    } catch (...) {
        closeUnanswered(channel);
    }
}

// A closed channel needs no answer, and its loop may be gone.
void AnswerLedger::end(Channel& channel, Number request, const ChannelHandlerContext* taker) noexcept {
    if (currentChannel() == &channel) [[likely]] {
        const AnswerLedger* const ledger = channel.ledger();
        if (ledger == nullptr || !ledger->isOpen(request)) [[likely]]
            return;
    }
    if (!channel.open()) return;
    try {
        if (entersLoop(channel.loop())) return dropHere(channel, request, taker);
        channel.loop().execute([kept = ChannelRef(channel), request] { dropHere(*kept, request, nullptr); });
    } catch (const SystemError&) {
        // The loop has ended, and the connection with it.
    } catch (...) {
        log(LogLevel::error, "a request was dropped without an answer, and its codec could not be notified");
    }
}

}  // namespace weft::detail
