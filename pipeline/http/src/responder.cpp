#include <weft/http/responder.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/http/request.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/detail/answer_ledger.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http {

namespace {

// An interim status would leave the client waiting, and this responder could not answer any more.
[[noreturn, gnu::cold]] void refuseInterim(Status status, const char* call) {
    throw std::invalid_argument(std::string(call) + " accepts 101 and 200 to 999, but the status is " +
                                std::to_string(codeOf(status)) +
                                "; send other 1xx responses with Responder::sendInterim()");
}
inline void requireFinal(Status status, const char* call) {
    if (codeOf(status) < 200 && status != Status::switchingProtocols) [[unlikely]]
        refuseInterim(status, call);
}

void requireInterim(Status status) {
    if (codeOf(status) >= 100 && codeOf(status) < 200 && status != Status::switchingProtocols) return;
    throw std::invalid_argument("Responder::sendInterim accepts 100 and 102 to 199, but the status is " +
                                std::to_string(codeOf(status)) +
                                "; send a final response, or 101, with Responder::send()");
}

}  // namespace

ChannelRef Responder::take() {
    if (!channel_) throw std::logic_error("a Responder can answer only once");
    return std::move(channel_);
}

// A write begins at the tail, so that every outbound handler sees the message: at once on the channel's carrier,
// elsewhere in a task.
void Responder::send(Response response, ChannelPromise promise) {
    requireFinal(response.status, "Responder::send");
    // Cancelled on its way to the codec, the response would be lost, and nothing else could answer the request (W-2).
    if (channel_ && !promise.setUncancellable()) return dropped();
    const ChannelRef channel = take();
    detail::Tickets::set(response, ticket_);
    channel->writeAndFlush(Message::lend(response), std::move(promise));
}

BodyWriter Responder::begin(Response head) {
    requireFinal(head.status, "Responder::begin");
    ChannelRef channel = take();
    detail::Tickets::set(head, ticket_);
    detail::Tickets::setHasWriter(head);
    head.streamed = true;
    channel->writeAndFlush(Message::lend(head));
    return BodyWriter(std::move(channel), ticket_);
}

void Responder::sendInterim(Response response) {
    if (!channel_) throw std::logic_error("Responder::sendInterim called after the answer");
    requireInterim(response.status);
    detail::Tickets::set(response, ticket_);
    channel_->writeAndFlush(Message::lend(response));
}

// The codec answers with 500 and logs it.
[[gnu::cold]] void Responder::dropped() noexcept {
    const ChannelRef channel = std::move(channel_);
    weft::detail::AnswerLedger::end(*channel, ticket_, nullptr);
}

BodyWriter::~BodyWriter() {
    if (!channel_ || !channel_->open()) return;
    try {
        channel_->close();
    } catch (...) {
        log(LogLevel::error, "a streamed response was dropped before its end, and its channel could not be closed");
    }
}

void BodyWriter::write(Buffer piece, ChannelPromise promise) {
    if (!channel_) throw std::logic_error("BodyWriter::write called after end()");
    channel_->writeAndFlush(Message(Content{std::move(piece), ticket_}), std::move(promise));
}

void BodyWriter::send(Buffer piece) {
    keepPace();
    sendLater(std::move(piece));
    keepPace();
}

// Works with two halves of the window: while one is being sent, the next one is filled.
void BodyWriter::sendLater(Buffer piece) {
    unmarked_ += piece.readableBytes() + sizeof(Message);  // the cost of a piece that waits
    if (unmarked_ < window / 2) return write(std::move(piece));
    if (!channel_) throw std::logic_error("BodyWriter::send called after end()");
    ChannelPromise newest = channel_->newPromise();
    write(std::move(piece), newest);
    unmarked_ = 0;
    due_ = std::exchange(mark_, std::move(newest));
}

void BodyWriter::keepPace() {
    if (due_.isVoid()) return;
    due_.future().sync();
    due_ = {};
}

void BodyWriter::end(HeaderList trailers, ChannelPromise promise) {
    if (!channel_) throw std::logic_error("BodyWriter::end called twice");
    LastContent last{ticket_};
    if (trailers.size() > 0) last.trailers = std::make_unique<HeaderList>(std::move(trailers));
    if (!promise.setUncancellable()) return;  // W-2: the destructor closes the connection
    const ChannelRef channel = std::move(channel_);
    channel->writeAndFlush(Message(std::move(last)), std::move(promise));
}

}  // namespace weft::http
