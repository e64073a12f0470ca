// The inbound half of the client codec: bytes to responses.
#include <weft/http/client_codec.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

namespace weft::http {

void ClientCodec::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Buffer>() || expects_ == Input::switched) return ctx.fireChannelRead(std::move(message));
    if (expects_ == Input::ended) return;
    if (input_.empty()) input_ = message.take<Buffer>();
    else input_.append(message.get<Buffer>().view());
    decode();
}

// with AUTO_READ off, a read cycle without a message needs another read(); see ServerCodec::readOnIfManual().
void ClientCodec::channelReadComplete(ChannelHandlerContext& ctx) {
    const bool silent = !std::exchange(fired_, false);
    ctx.fireChannelReadComplete();
    if (silent && ctx_ != nullptr && expects_ != Input::switched && !ctx.channel().config().autoRead) ctx.read();
}

// Handlers may write, close or remove this codec inside. A nested call returns at once; the outer one goes on.
void ClientCodec::decode() {
    if (decoding_) return;
    decoding_ = true;
    try {
        while (ctx_ != nullptr && expects_ == Input::responses && !input_.empty()) {
            if (!step()) break;
        }
    } catch (...) {  // there is no memory for a response: later ones are not the next
        decoding_ = false;
        fail({Status::badGateway, "there was no memory for the response"});
        return;
    }
    decoding_ = false;
    if (expects_ == Input::ended) input_ = Buffer();
    weft::detail::compact(input_);  // a server may be silent here for long
}

void ClientCodec::startNext() noexcept {
    if (std::exchange(started_, true)) return;
    decoder_.start(requests_.front().method, requests_.front().mayUpgrade);
}

// Handles one event of the response to the front request. False: no more can be decoded for now.
bool ClientCodec::step() {
    if (requests_.empty()) {
        fail({Status::badGateway, "bytes without an outstanding request"});
        return false;
    }
    startNext();
    const ResponseStep decoded = decoder_.decode(input_.view());
    switch (decoded.event) {
        case ResponseEvent::needMore: input_.consumed(decoded.consumed); return false;
        case ResponseEvent::error: fail(decoder_.refusal()); return false;
        case ResponseEvent::data: {
            Buffer data =
                input_.slice(static_cast<std::size_t>(decoded.data.data() - input_.readData()), decoded.data.size());
            input_.consumed(decoded.consumed);
            fired_ = true;
            ctx_->fireChannelRead(Message(Content{std::move(data), first_}));
            break;
        }
        case ResponseEvent::end: input_.consumed(decoded.consumed); break;
        case ResponseEvent::interim:
        case ResponseEvent::head: deliver(decoded.event, decoded.consumed); break;
    }
    if (ctx_ != nullptr && expects_ == Input::responses && decoder_.finished()) endResponse();
    return true;
}

void ClientCodec::deliver(ResponseEvent event, std::size_t consumed) {
    auto data = std::make_unique<detail::ResponseData>();
    data->head = decoder_.head();
    data->ticket = first_;
    data->bytes = input_.slice(0, consumed);
    input_.consumed(consumed);
    fired_ = true;
    if (event == ResponseEvent::interim) return ctx_->fireChannelRead(Message(InterimResponse(std::move(data))));
    ctx_->fireChannelRead(Message(ReceivedResponse(std::move(data))));
}

void ClientCodec::endResponse() {
    const bool switches = decoder_.head().switches;
    const bool hadBody = decoder_.head().hasBody();
    const Ticket ticket = first_++;
    requests_.pop();
    started_ = false;
    if (!switches && !decoder_.head().keepAlive) {
        lastResponse_ = true;
        if (requests_.empty()) expects_ = Input::ended;  // later bytes are discarded
    }
    if (switches) {
        expects_ = Input::switched;
        ctx_->fireUserEventTriggered(Message(ProtocolSwitched{ticket}));
        if (ctx_ != nullptr) passInputOn();
        return;
    }
    fired_ = true;
    if (hadBody) ctx_->fireChannelRead(Message(LastContent{ticket, decoder_.body().trailerList()}));
    if (ctx_ != nullptr && lastResponse_ && !requests_.empty()) {
        fail({Status::badGateway, "the server closes the connection before it has answered all requests"});
    }
}

void ClientCodec::passInputOn() {
    if (input_.empty() || expects_ == Input::ended) return;
    ChannelHandlerContext& ctx = *ctx_;  // the handler that gets the bytes may remove this codec (H-6)
    ctx.fireChannelRead(Message(std::exchange(input_, Buffer())));
    ctx.fireChannelReadComplete();
}

// The connection, or its input, has ended.
void ClientCodec::endInput() {
    if (requests_.empty()) {
        expects_ = Input::ended;
        return;
    }
    startNext();
    if (!disorderly_ && decoder_.endOfInput() == ResponseEvent::end) {
        endResponse();
        if (ctx_ != nullptr) ctx_->fireChannelReadComplete();
        if (ctx_ == nullptr || requests_.empty()) return;
    }
    fail({Status::badGateway, "the connection ended before the response was complete"});
}

void ClientCodec::fail(const Refusal& refusal) {
    expects_ = Input::ended;
    requests_.clear();
    ctx_->fireExceptionCaught(std::make_exception_ptr(BadResponseException(refusal)));
    if (ctx_ != nullptr) ctx_->close();
}

}  // namespace weft::http
