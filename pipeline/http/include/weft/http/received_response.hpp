// Messages that a client codec fires: ReceivedResponse (a head), Content and LastContent (its body, streamed),
// InterimResponse (1xx). ResponseAggregator makes FullResponse (a head with its whole body) from them.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <weft/http/header_list.hpp>
#include <weft/http/received_head.hpp>
#include <weft/http/response.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>

namespace weft::http {

namespace detail {

struct ResponseData final : weft::detail::InThreadCache {
    ResponseData() noexcept {}  // leaves the storage of the header table uninitialised

    ReceivedHead head;
    Buffer bytes;  // the bytes of the head
    Buffer body;
    std::unique_ptr<HeaderList> trailers;
    Ticket ticket = 0;
};

using ResponseDataPointer = std::unique_ptr<ResponseData>;

}  // namespace detail

// The head of a response. Move-only, one pointer in size. Views live as long as the response, also after a move. If
// hasBody(), Content messages and one LastContent follow; otherwise nothing follows.
class ReceivedResponse {
  public:
    explicit ReceivedResponse(detail::ResponseDataPointer data) noexcept : data_(std::move(data)) {}

    Status status() const noexcept { return data_->head.status; }
    bool succeeded() const noexcept { return codeOf(status()) / 100 == 2; }
    Version version() const noexcept { return data_->head.version; }
    // The reason phrase as sent by the server; may be empty.
    std::string_view reason() const noexcept { return text(data_->head.reason); }
    // The first header with this name (case-insensitive), if any.
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return data_->head.headers.find(name, data_->bytes.view());
    }
    std::size_t headerCount() const noexcept { return data_->head.headers.size(); }
    HeaderView headerAt(std::size_t index) const noexcept { return data_->head.headers.at(index, data_->bytes.view()); }
    bool hasBody() const noexcept { return data_->head.hasBody(); }
    // Another request may follow on this connection.
    bool keepAlive() const noexcept { return data_->head.keepAlive; }
    const ReceivedHead& head() const noexcept { return data_->head; }
    // The ticket of its request: requests of a connection are numbered from 1.
    Ticket ticket() const noexcept { return data_->ticket; }

  protected:
    friend class ResponseAggregator;
    std::string_view text(Slice slice) const noexcept { return slice.in(data_->bytes.view()); }
    detail::ResponseDataPointer data_;
};

// A 1xx response: the final response is still to come. 100 means that the body may be sent.
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
    // The trailer fields of a chunked body. Lifetime: as long as the response.
    const HeaderList& trailers() const noexcept { return data_->trailers ? *data_->trailers : noTrailers(); }
};

}  // namespace weft::http
