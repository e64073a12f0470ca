#include "body_stream.hpp"

#include <stdexcept>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::http::detail {

struct BodyStream::Turn {
    BodyStream* stream;   // null: it has ended
    bool posted = false;  // the task is on its way
};

BodyStream::~BodyStream() {
    if (turn_) turn_->stream = nullptr;
}

// A part of the body may be missing after an exception, so that nothing may follow.
template <class Send>
void BodyStream::whole(Send send) {
    if (broken_) throw std::logic_error("http::ResponseStream is used after a send() that failed: the answer is cut");
    try {
        send();
    } catch (...) {
        broken_ = true;
        throw;
    }
}

void BodyStream::send(Buffer piece) {
    whole([&] {
        sendGathered();
        writer_.send(std::move(piece));
    });
}

void BodyStream::send(std::string_view text) {
    if (text.size() >= gathered) return send(Buffer::copyOf(text));
    whole([&] { gather(text); });
}

void BodyStream::end(HeaderList trailers) {
    whole([&] {
        sendGathered();
        writer_.end(std::move(trailers));
    });
}

void BodyStream::gather(std::string_view text) {
    if (pending_.readableBytes() + text.size() > gathered) sendGathered();
    if (pending_.empty()) {
        writer_.keepPace();
        sendAtEndOfTurn();
        pending_ = Buffer::allocate(gathered);
    }
    pending_.append(text);
}

void BodyStream::sendGathered() {
    if (!pending_.empty()) writer_.send(std::exchange(pending_, {}));
}

// The loop runs its tasks once the fiber waits or yields.
void BodyStream::sendAtEndOfTurn() {
    if (!turn_) turn_ = std::make_shared<Turn>(Turn{this});
    if (turn_->posted) return;
    writer_.channel().loop().execute([turn = turn_] {
        turn->posted = false;
        BodyStream* const stream = turn->stream;
        if (stream == nullptr || stream->pending_.empty() || stream->broken_) return;
        stream->whole([&] { stream->writer_.sendLater(std::exchange(stream->pending_, {})); });
    });
    turn_->posted = true;
}

}  // namespace weft::http::detail
