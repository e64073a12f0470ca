// What a client codec hands to the application: ReceivedResponse (a head), Content and LastContent (its body,
// streamed), InterimResponse (1xx), and FullResponse (a head with its whole body, made by ResponseAggregator).
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/received_head.hpp>
#include <weft/pipeline/http/response.hpp>

namespace weft::http {

namespace detail {

struct ResponseData {
    ReceivedHead head;
    Buffer bytes;  // of the head
    Buffer body;
    std::unique_ptr<HeaderList> trailers;
    Ticket ticket = 0;
};

struct ResponseDataDeleter {
    void operator()(ResponseData* data) const noexcept {
        data->~ResponseData();
        weft::detail::ThreadCache::release(data, sizeof(ResponseData));
    }
};
using ResponseDataPointer = std::unique_ptr<ResponseData, ResponseDataDeleter>;
ResponseDataPointer makeResponseData();

}  // namespace detail

// The head of a response. Move-only, one pointer. Views live as long as the response (moved or not).
// After a ReceivedResponse with hasBody(), Content messages follow and one LastContent; without, nothing does.
class ReceivedResponse {
  public:
    explicit ReceivedResponse(detail::ResponseDataPointer data) noexcept : data_(std::move(data)) {}

    Status status() const noexcept { return data_->head.status; }
    bool succeeded() const noexcept { return codeOf(status()) / 100 == 2; }
    Version version() const noexcept { return data_->head.version; }
    // As the server wrote it; may be empty.
    std::string_view reason() const noexcept { return text(data_->head.reason); }
    // The first header of this name (case-insensitive); nothing when it is absent.
    std::optional<std::string_view> header(std::string_view name) const noexcept;
    std::size_t headerCount() const noexcept { return data_->head.headers.size(); }
    HeaderView headerAt(std::size_t index) const noexcept;
    bool hasBody() const noexcept { return data_->head.hasBody(); }
    // Another request may follow on this connection.
    bool keepAlive() const noexcept { return data_->head.keepAlive; }
    const ReceivedHead& head() const noexcept { return data_->head; }
    // The number of its request on the connection, from 1.
    Ticket ticket() const noexcept { return data_->ticket; }

  protected:
    friend class ResponseAggregator;
    std::string_view text(Slice slice) const noexcept { return slice.in(data_->bytes.view()); }
    detail::ResponseDataPointer data_;
};

// A 1xx response: the response itself is still to come. 100 says that the body may be sent.
class InterimResponse final : public ReceivedResponse {
  public:
    using ReceivedResponse::ReceivedResponse;
};

// A response with its whole body.
class FullResponse final : public ReceivedResponse {
  public:
    using ReceivedResponse::ReceivedResponse;
    std::string_view body() const noexcept { return data_->body.view(); }
    Buffer takeBody() noexcept { return std::move(data_->body); }
    // The fields behind a chunked body. Lifetime: as long as the response.
    const HeaderList& trailers() const noexcept;
};

}  // namespace weft::http
