#include <weft/pipeline/detail/answer_ledger.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "current_channel.hpp"
#include "enters_loop.hpp"
#include "pipeline_entry.hpp"

namespace weft::detail {

namespace {

void dropHere(Channel& channel, const AnswerLedger::Drop& drop) {
    PipelineEntry entry(channel);
    AnswerLedger* const ledger = channel.open() ? channel.ledger() : nullptr;
    if (ledger != nullptr && ledger->isOpen(drop.request)) ledger->dropped(drop);
}

}  // namespace

void AnswerLedger::end(Channel& channel, Number request, const ChannelHandlerContext* taker) noexcept {
    if (currentChannel() == &channel) [[likely]] {
        const AnswerLedger* const ledger = channel.ledger();
        if (ledger == nullptr || !ledger->isOpen(request)) [[likely]]
            return;
    }
    drop(channel, {.request = request, .taker = taker});
}

// A closed channel needs no answer, and its loop may be gone.
void AnswerLedger::drop(Channel& channel, const Drop& drop) noexcept {
    if (!channel.open()) return;
    try {
        if (entersLoop(channel.loop())) return dropHere(channel, drop);
        channel.loop().execute([kept = ChannelRef(channel), request = drop.request] { dropHere(*kept, {request}); });
    } catch (const SystemError&) {
        // The loop has ended, and the connection with it.
    } catch (...) {
        log(LogLevel::error, "a request was dropped without an answer, and its codec could not be notified");
    }
}

}  // namespace weft::detail
