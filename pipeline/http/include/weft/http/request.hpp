// Messages that a server codec fires: Request (a head), Content and LastContent (its body, streamed). ObjectAggregator
// makes FullRequest (a head with its whole body) from them.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <weft/http/header_list.hpp>
#include <weft/http/request_head.hpp>
#include <weft/http/responder.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/answer_ledger.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>

namespace weft {
class ChannelHandlerContext;
}

namespace weft::http {

namespace detail {

class BodyCollector;

struct RequestData final : weft::detail::InThreadCache {
    static constexpr std::size_t shortHead = 256;  // bytes

    RequestData() noexcept {}  // leaves shortText uninitialised

    // Takes the bytes of the head, `head.consumed`, from the front of `input`. A short head is copied, so that a
    // request that waits does not hold a receive buffer.
    void takeHead(Buffer& input) noexcept {
        const std::size_t size = head.consumed;
        if (size <= shortHead) [[likely]] {
            std::memcpy(shortText.data(), input.readData(), size);
            start = shortText.data();
            input.consumed(size);
        } else if (size == input.readableBytes()) {
            std::construct_at(&longText, std::move(input));  // it is empty: nothing to release
            start = longText.readData();
        } else {
            takePart(input);
        }
    }
    std::string_view text(Slice slice) const noexcept { return {start + slice.offset, slice.size}; }
    std::string_view headText() const noexcept { return {start, head.consumed}; }

    RequestHead head;
    const char* start = nullptr;  // the head's first byte
    Buffer body;
    std::unique_ptr<HeaderList> trailers;
    ChannelRef channel;
    Ticket ticket = noTicket;
    const ChannelHandlerContext* taker = nullptr;  // the SimpleInboundHandler that got the request; for warnings
    bool hasResponder = false;                     // a Responder or a Response is responsible for the answer
    Buffer longText;                               // the head's bytes, when they are not in shortText
    std::array<char, shortHead> shortText;

  private:
    void takePart(Buffer& input) noexcept;
};

using RequestDataPointer = std::unique_ptr<RequestData>;
// Throws std::bad_alloc.
inline RequestDataPointer makeRequestData() {
    return RequestDataPointer(new RequestData);
}

}  // namespace detail

// The head of a request. Move-only, one pointer in size. Views live as long as the request, also after a move. If
// hasBody(), Content messages and one LastContent (or BodyCut) follow; otherwise nothing follows.
// If a Request is destroyed unanswered, and neither responder() nor Response::to() has been called for it, its codec
// answers with 500 once the request and its body have been delivered. If it reaches the tail of the pipeline, the codec
// answers with 404. Both are logged: a handler that forgets a branch, or throws, does not leave its client waiting.
class Request {
  public:
    static constexpr bool movesByBytes = true;  // see Message

    explicit Request(detail::RequestDataPointer&& data) noexcept : data_(std::move(data)) {}
    Request(Request&&) noexcept = default;
    // Ends the request that this was, as if it were destroyed.
    Request& operator=(Request&& other) noexcept;
    ~Request() {
        if (data_ && !data_->hasResponder)
            weft::detail::AnswerLedger::end(*data_->channel, data_->ticket, data_->taker);
    }

    Method method() const noexcept { return data_->head.method; }
    std::string_view methodText() const noexcept { return text(data_->head.methodText); }
    Version version() const noexcept { return data_->head.version; }
    // The target as sent in the request line: "/sleep?ms=10".
    std::string_view target() const noexcept { return text(data_->head.target); }
    // The target up to its query, without scheme and authority if it is in absolute form. Not decoded.
    std::string_view path() const noexcept {
        if (data_->head.targetForm == TargetForm::absolute) [[unlikely]]
            return absolutePath();
        return target().substr(0, data_->head.pathSize);
    }
    // The value of the first query parameter with this name: "" if it has none, std::nullopt if there is no such
    // parameter. Neither name nor value is decoded.
    std::optional<std::string_view> query(std::string_view name) const noexcept;
    // The value of the first header with this name (case-insensitive), if any.
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return data_->head.headers.find(name, data_->headText());
    }
    std::size_t headerCount() const noexcept { return data_->head.headers.size(); }
    HeaderView headerAt(std::size_t index) const noexcept { return data_->head.headers.at(index, data_->headText()); }
    bool hasBody() const noexcept { return data_->head.hasBody(); }
    bool keepAlive() const noexcept { return data_->head.keepAlive; }
    const RequestHead& head() const noexcept { return data_->head; }

    // The right to answer this request, from any thread or fiber, in any order relative to other requests; the codec
    // sends the answers in the order of the requests. Call it at most once per request.
    Responder responder() const {
        data_->hasResponder = true;
        return Responder(data_->channel, data_->ticket);
    }
    // The number of this request on its connection, from 1: for logs, and for Content and LastContent.
    Ticket ticket() const noexcept { return data_->ticket; }

    // Called by SimpleInboundHandler before it passes the request to its handler.
    void takenBy(const ChannelHandlerContext& ctx) noexcept { data_->taker = &ctx; }

  protected:
    friend class detail::BodyCollector;
    friend struct Response;
    std::string_view absolutePath() const noexcept;
    std::string_view text(Slice slice) const noexcept { return data_->text(slice); }
    detail::RequestDataPointer data_;
};

inline Response& Response::to(const Request& request) & noexcept {
    request.data_->hasResponder = true;
    ticket_ = request.ticket();
    return *this;
}
inline Response&& Response::to(const Request& request) && noexcept {
    return std::move(to(request));
}

// A piece of a request's body, or of a streamed response's. Written without a ticket, it belongs to the unfinished
// response to the request that is being delivered, otherwise to the only unfinished response that a handler has begun
// with write(). If there are none or several, it is refused. A Buffer that is written instead is treated as a Content
// without a ticket.
struct Content {
    Buffer data;
    Ticket ticket = noTicket;
};

// The end of a body, with the trailer fields received or to be sent after it; null: none. Trailers are never merged
// into the header fields.
struct LastContent {
    Ticket ticket = noTicket;
    std::unique_ptr<HeaderList> trailers = {};
};

// Fired instead of LastContent if the rest of the body will not come: it is malformed, it is too slow, or the
// connection has ended inside it. The codec answers the request, unless it has been answered, and closes the
// connection.
struct BodyCut {
    Ticket ticket = noTicket;
    std::string_view reason;  // a constant text
};

// A request with its whole body.
class FullRequest final : public Request {
  public:
    using Request::Request;
    std::string_view body() const noexcept { return data_->body.view(); }
    Buffer takeBody() noexcept { return std::move(data_->body); }
    // The trailer fields of a chunked body. Lifetime: as long as the request.
    const HeaderList& trailers() const noexcept { return data_->trailers ? *data_->trailers : noTrailers(); }
};

}  // namespace weft::http
