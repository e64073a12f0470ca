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
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/request_head.hpp>
#include <weft/pipeline/http/responder.hpp>
#include <weft/scheduler/detail/fiber_context.hpp>

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
    Ticket ticket = 0;
    bool hasResponder = false;  // somebody else is responsible for the answer
    Buffer longText;            // the head's bytes, when they are not in shortText
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
// A request that is destroyed while an exception unwinds, unanswered and without a responder, is answered with 500: a
// handler that throws does not leave its client waiting.
class Request {
  public:
    static constexpr bool movesByBytes = true;  // see Message

    explicit Request(detail::RequestDataPointer data) noexcept : data_(std::move(data)) {}
    Request(Request&&) noexcept = default;
    Request& operator=(Request&&) noexcept = default;
    ~Request() {
        if (data_ && !data_->hasResponder && weft::detail::unwinding()) abandon();
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
    Ticket ticket() const noexcept { return data_->ticket; }

  protected:
    friend class ObjectAggregator;
    void abandon() noexcept { Responder(std::move(data_->channel), data_->ticket); }  // whose destructor answers
    std::string_view absolutePath() const noexcept;
    std::string_view text(Slice slice) const noexcept { return data_->text(slice); }
    detail::RequestDataPointer data_;
};

// A piece of a request's body, or (with a ticket) of a streamed response's.
struct Content {
    Buffer data;
    Ticket ticket = anyTicket;
};

// The end of a body, with the trailer fields that came (or go) behind it; null: none. Trailers are the sender's word
// about the body and never stand in for header fields.
struct LastContent {
    Ticket ticket = anyTicket;
    std::unique_ptr<HeaderList> trailers = {};
};

// Instead of LastContent: the rest of this body will not come, since it is malformed, was too slow, or the connection
// has ended inside it. The codec has answered if nobody had, and closes the connection.
struct BodyCut {
    Ticket ticket = anyTicket;
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
