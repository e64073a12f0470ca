#include <weft/http/body_reader.hpp>

#include <cerrno>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/log.hpp>

#include "streamed_body.hpp"

namespace weft::http {

namespace {

using detail::StreamedBody;

// Subtracts freed memory. Returns true if a read() was withheld for lack of room; the caller must then call read().
bool release(StreamedBody& body, std::size_t heldBefore) noexcept {
    body.bodies->held -= heldBefore - body.pieces.held();
    return body.bodies->held < BodyReader::lowMark && std::exchange(body.bodies->withheld, false);
}

void sendContinue(StreamedBody& body) {
    Response goOn(Status::continue_);
    detail::Tickets::set(goOn, body.ticket);
    body.channel->writeAndFlush(Message(std::move(goOn)));
}

ErrorCode waitForChange(StreamedBody& body) {
    const char* const call = "BodyReader::read";
    return body.readers.waitUntil(body.bodies->lock, never, call, [&] {
        if (!body.pieces.empty() || body.ended || body.cut) return true;
        // Only this thread could deliver more: an embedded loop runs only when its owner drives it.
        const EventLoop& loop = body.channel->loop();
        if (loop.carrier() == nullptr && loop.inEventLoop()) throw BlockingOperationException(call);
        return false;
    });
}

}  // namespace

BodyReader& BodyReader::operator=(BodyReader&& other) noexcept {
    if (this != &other) {
        abandon();
        body_ = std::move(other.body_);
    }
    return *this;
}

BodyReader::~BodyReader() {
    abandon();
}

void BodyReader::abandon() noexcept {
    if (!body_) return;
    bool resume = false;
    {
        std::lock_guard held(body_->bodies->lock);
        body_->abandoned = true;
        const std::size_t before = body_->pieces.held();
        body_->pieces.clear();
        resume = release(*body_, before);
    }
    try {
        if (resume) body_->channel->read();
    } catch (...) {
        log(LogLevel::debug, "an HTTP body was dropped after its event loop had ended");
    }
    body_.reset();
}

std::optional<Buffer> BodyReader::read() {
    ErrorCode error;
    std::optional<Buffer> piece = read(error);
    if (!error) return piece;
    std::string what = "BodyReader::read";
    if (body_->cut) what.append(": ").append(body_->cutReason);
    throw SystemError(error, what);
}

std::optional<Buffer> BodyReader::read(ErrorCode& error) {
    error = {};
    if (!body_) return std::nullopt;
    StreamedBody& body = *body_;
    std::mutex& lock = body.bodies->lock;
    bool goOn = false;
    {
        std::lock_guard held(lock);
        goOn = std::exchange(body.continueDue, false) && body.pieces.empty() && !body.ended && !body.cut;
    }
    if (goOn) sendContinue(body);
    error = waitForChange(body);
    if (error) return std::nullopt;
    std::optional<Buffer> piece;
    bool resume = false;
    {
        std::lock_guard held(lock);
        if (!body.pieces.empty()) {
            const std::size_t before = body.pieces.held();
            piece = body.pieces.pop();
            resume = release(body, before);
        } else if (body.cut) {
            error = fromErrno(ECONNABORTED);
        }
    }
    if (resume) body.channel->read();
    return piece;
}

std::size_t BodyReader::available() const noexcept {
    if (!body_) return 0;
    std::lock_guard held(body_->bodies->lock);
    return body_->pieces.bytes();
}

const HeaderList& BodyReader::trailers() const noexcept {
    return body_ && body_->trailers ? *body_->trailers : noTrailers();
}

}  // namespace weft::http
