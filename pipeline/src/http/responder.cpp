#include <weft/pipeline/http/responder.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http {

namespace {

// From the tail: every outbound handler sees it. On the channel's carrier at once, elsewhere as a task.
void sendDown(Channel& channel, Message&& message, ChannelPromise promise) {
    channel.writeAndFlush(std::move(message), std::move(promise));
}

}  // namespace

ChannelRef Responder::take() {
    if (!channel_) throw std::logic_error("a Responder can answer once");
    return std::move(channel_);
}

void Responder::send(Response response, ChannelPromise promise) {
    const ChannelRef channel = take();
    response.ticket = ticket_;
    sendDown(*channel, Message::lend(response), std::move(promise));
}

BodyWriter Responder::begin(Response head) {
    ChannelRef channel = take();
    head.ticket = ticket_;
    head.streamed = true;
    sendDown(*channel, Message::lend(head), {});
    return BodyWriter(std::move(channel), ticket_);
}

void Responder::sendInterim(Response response) {
    if (!channel_) throw std::logic_error("Responder::sendInterim after the answer");
    if (codeOf(response.status) >= 200) throw std::logic_error("Responder::sendInterim takes a 1xx response");
    response.ticket = ticket_;
    sendDown(*channel_, Message::lend(response), {});
}

void Responder::abandon() noexcept {
    if (!channel_) return;
    try {
        send(error(Status::internalServerError));
    } catch (...) {
        log(LogLevel::error, "a request was dropped without an answer, and 500 could not be sent");
    }
}

BodyWriter::~BodyWriter() {
    if (!channel_) return;
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
    unmarked_ += piece.readableBytes();
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
