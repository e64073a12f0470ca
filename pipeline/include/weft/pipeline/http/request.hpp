// What a server codec hands to the application: Request (a head), Content and LastContent (its body, streamed), and
// FullRequest (both, made by ObjectAggregator).
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>
#include <weft/pipeline/detail/watched_delivery.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/request_head.hpp>
#include <weft/pipeline/http/responder.hpp>

namespace weft {
class ChannelHandlerContext;
}

namespace weft::http {

namespace detail {

struct RequestData {
    static constexpr std::size_t shortHead = 256;  // bytes

    RequestData() noexcept {}  // leaves the room for the text uninitialised

    // Takes the bytes of the head, `head.consumed`, from the front of `input`; a short one is copied, so that a request
    // that waits does not hold a receive buffer.
    void takeHead(Buffer& input) noexcept {
        const std::size_t size = head.consumed;
        if (size > shortHead) [[unlikely]]
            return takeLongHead(input);
        std::memcpy(shortText.data(), input.readData(), size);
        start = shortText.data();
        input.consumed(size);
    }
    std::string_view text(Slice slice) const noexcept { return {start + slice.offset, slice.size}; }

    RequestHead head;
    const char* start = nullptr;  // of the head's bytes
    Buffer body;
    std::unique_ptr<HeaderList> trailers;
    ChannelRef channel;
    Ticket ticket = noTicket;
    const ChannelHandlerContext* taker = nullptr;  // the handler that took the request out of its message, if known
    bool hasResponder = false;                     // somebody else is responsible for the answer
    Buffer longText;                               // the head's bytes, when they are not in shortText
    std::array<char, shortHead> shortText;

  private:
    void takeLongHead(Buffer& input) noexcept;
};

struct RequestDataDeleter {
    void operator()(RequestData* data) const noexcept {
        data->~RequestData();
        weft::detail::ThreadCache::release(data, sizeof(RequestData));
    }
};
using RequestDataPointer = std::unique_ptr<RequestData, RequestDataDeleter>;
// Throws std::bad_alloc.
inline RequestDataPointer makeRequestData() {
    return RequestDataPointer(::new (weft::detail::ThreadCache::allocate(sizeof(RequestData))) RequestData);
}

}  // namespace detail

// The head of a request. Move-only, one pointer. Views live as long as the request (moved or not).
// After a Request with hasBody(), Content messages follow and one LastContent (or BodyCut); without, nothing does.
// A request that is destroyed unanswered, with neither a responder nor a response that is to() it, is answered with 500
// by its codec once it has been delivered, body included, and one that reaches the tail of the pipeline with 404. Both
// are logged: a handler that forgets a branch, or throws, does not leave its client waiting.
class Request {
  public:
    static constexpr bool movesByBytes = true;  // see Message

    explicit Request(detail::RequestDataPointer data) noexcept : data_(std::move(data)) {}
    Request(Request&&) noexcept = default;
    Request& operator=(Request&&) noexcept = default;
    ~Request() {
        if (data_ && !data_->hasResponder) ended();
    }

    Method method() const noexcept { return data_->head.method; }
    std::string_view methodText() const noexcept { return text(data_->head.methodText); }
    Version version() const noexcept { return data_->head.version; }
    // As it stands in the request line: "/sleep?ms=10".
    std::string_view target() const noexcept { return text(data_->head.target); }
    // The target up to its query; of an absolute-form target the part behind the authority. Not decoded.
    std::string_view path() const noexcept {
        if (data_->head.targetForm == TargetForm::absolute) [[unlikely]]
            return absolutePath();
        return target().substr(0, data_->head.pathSize);
    }
    // The value of a query parameter, not decoded; nothing when it is absent.
    std::optional<std::string_view> query(std::string_view name) const noexcept;
    // The first header of this name (case-insensitive); nothing when it is absent.
    std::optional<std::string_view> header(std::string_view name) const noexcept;
    std::size_t headerCount() const noexcept { return data_->head.headers.size(); }
    HeaderView headerAt(std::size_t index) const noexcept;
    bool hasBody() const noexcept { return data_->head.hasBody(); }
    bool keepAlive() const noexcept { return data_->head.keepAlive; }
    const RequestHead& head() const noexcept { return data_->head; }

    // The right to answer this request, from any thread or fiber, in any order. At most once per request.
    Responder responder() const {
        data_->hasResponder = true;
        return Responder(data_->channel, data_->ticket);
    }
    // Its number on the connection, from 1: for logs, and for Content and LastContent.
    Ticket ticket() const noexcept { return data_->ticket; }

    // For SimpleInboundHandler.
    void takenBy(const ChannelHandlerContext& ctx) noexcept { data_->taker = &ctx; }

  protected:
    friend class ObjectAggregator;
    friend struct Response;
    // Mostly it has been answered, by the handler that lets it go: the codec that delivers it looks.
    void ended() noexcept {
        if (weft::detail::watchedDelivery != reinterpret_cast<std::uintptr_t>(data_.get())) [[unlikely]]
            return endedElsewhere();
        weft::detail::watchedDelivery =
            reinterpret_cast<std::uintptr_t>(data_->taker) | weft::detail::endedInDelivery;
    }
    void endedElsewhere() noexcept;
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

// A piece of a request's body, or of a streamed response's. One that is written without a ticket belongs to the answer
// of the request that is being delivered, or else to the only unfinished answer that a handler has begun with write();
// where there are none or several it is refused. A Buffer that is written in its place is taken for one.
struct Content {
    Buffer data;
    Ticket ticket = noTicket;
};

// The end of a body, with the trailer fields that came (or go) behind it; null: none. Trailers are the sender's word
// about the body and never stand in for header fields.
struct LastContent {
    Ticket ticket = noTicket;
    std::unique_ptr<HeaderList> trailers = {};
};

// Instead of LastContent: the rest of this body will not come, since it is malformed, was too slow, or the connection
// has ended inside it. The codec has answered if nobody had, and closes the connection.
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
    // The fields behind a chunked body. Lifetime: as long as the request.
    const HeaderList& trailers() const noexcept { return data_->trailers ? *data_->trailers : noTrailers(); }
};

}  // namespace weft::http
