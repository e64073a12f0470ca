#include <weft/pipeline/http/responder.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/scheduler/log.hpp>

#include "http/dropped_request.hpp"

namespace weft::http {

namespace {

// From the tail: every outbound handler sees it. On the channel's carrier at once, elsewhere as a task.
void sendDown(Channel& channel, Message&& message, ChannelPromise promise) {
    channel.writeAndFlush(std::move(message), std::move(promise));
}

// The client would go on waiting for the answer, and this responder could give none any more.
[[noreturn, gnu::cold]] void refuseInterim(Status status, const char* call) {
    throw std::invalid_argument(std::string(call) + " takes the answer (101, or 200 to 999), but the status is " +
                                std::to_string(codeOf(status)) + "; send 1xx with Responder::sendInterim()");
}
inline void requireFinal(Status status, const char* call) {
    if (codeOf(status) < 200 && status != Status::switchingProtocols) [[unlikely]]
        refuseInterim(status, call);
}

void requireInterim(Status status) {
    if (codeOf(status) >= 100 && codeOf(status) < 200 && status != Status::switchingProtocols) return;
    throw std::invalid_argument("Responder::sendInterim takes 100 and 102 to 199, but the status is " +
                                std::to_string(codeOf(status)) +
                                "; send an answer, 101 included, with Responder::send()");
}

}  // namespace

ChannelRef Responder::take() {
    if (!channel_) throw std::logic_error("a Responder can answer once");
    return std::move(channel_);
}

void Responder::send(Response response, ChannelPromise promise) {
    requireFinal(response.status, "Responder::send");
    const ChannelRef channel = take();
    detail::Tickets::set(response, ticket_);
    sendDown(*channel, Message::lend(response), std::move(promise));
}

BodyWriter Responder::begin(Response head) {
    requireFinal(head.status, "Responder::begin");
    ChannelRef channel = take();
    detail::Tickets::set(head, ticket_);
    detail::Tickets::setHasWriter(head);
    head.streamed = true;
    sendDown(*channel, Message::lend(head), {});
    return BodyWriter(std::move(channel), ticket_);
}

void Responder::sendInterim(Response response) {
    if (!channel_) throw std::logic_error("Responder::sendInterim after the answer");
    requireInterim(response.status);
    detail::Tickets::set(response, ticket_);
    sendDown(*channel_, Message::lend(response), {});
}

// The codec answers with 500 and logs it. A channel that has closed needs no answer, and its loop may be gone.
[[gnu::cold]] void Responder::dropped() noexcept {
    const ChannelRef channel = std::move(channel_);
    if (!channel->open()) return;
    try {
        sendDown(*channel, Message(detail::RequestDropped{ticket_}), {});
    } catch (...) {
        log(LogLevel::error, "a request was dropped without an answer, and 500 could not be sent");
    }
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
    if (!channel_) throw std::logic_error("BodyWriter::write after end()");
    sendDown(*channel_, Message(Content{std::move(piece), ticket_}), std::move(promise));
}

// In two halves of the window: while one is on its way, the next is filled.
void BodyWriter::send(Buffer piece) {
    unmarked_ += piece.readableBytes() + sizeof(Message);  // what a piece costs while it waits
    if (unmarked_ < window / 2) return write(std::move(piece));
    if (!channel_) throw std::logic_error("BodyWriter::send after end()");
    ChannelPromise newest = channel_->newPromise();
    write(std::move(piece), newest);
    unmarked_ = 0;
    const ChannelPromise older = std::exchange(mark_, std::move(newest));
    if (!older.isVoid()) older.future().sync();
}

void BodyWriter::end(ChannelPromise promise) {
    if (!channel_) throw std::logic_error("BodyWriter::end called twice");
    const ChannelRef channel = std::move(channel_);
    sendDown(*channel, Message(LastContent{ticket_}), std::move(promise));
}

void BodyWriter::end(HeaderList trailers, ChannelPromise promise) {
    if (!channel_) throw std::logic_error("BodyWriter::end called twice");
    const ChannelRef channel = std::move(channel_);
    sendDown(*channel, Message(LastContent{ticket_, std::make_unique<HeaderList>(std::move(trailers))}),
             std::move(promise));
}

}  // namespace weft::http
