// ClientResponse: what a backend answered.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/request_head.hpp>
#include <weft/pipeline/http/response_encoder.hpp>
#include <weft/pipeline/http/status.hpp>
#include <weft/pipeline/http/version.hpp>

namespace weft::http {

// Move-only value; views live as long as it does and is not moved. Context: one thread or fiber at a time.
class ClientResponse {
  public:
    Status status() const noexcept { return status_; }
    bool succeeded() const noexcept { return codeOf(status_) / 100 == 2; }
    Version version() const noexcept { return version_; }
    // As the backend wrote it; may be empty.
    std::string_view reason() const noexcept { return text(reason_); }

    std::size_t headerCount() const noexcept { return fields_.size(); }
    // index < headerCount().
    HeaderView headerAt(std::size_t index) const {
        const HeaderField& field = fields_.fields()[index];
        return {text(field.name), text(field.value)};
    }
    // The first header of this name (case-insensitive); nothing when it is absent.
    std::optional<std::string_view> header(std::string_view name) const noexcept;

    std::string_view body() const noexcept { return body_.view(); }
    Buffer takeBody() noexcept { return std::move(body_); }
    // The body of a 2xx answer, for callers that want nothing else: `Buffer body = http::get(...)`. Throws ClientError
    // for any other status.
    operator Buffer() &&;

  private:
    friend class ClientResponseParser;
    friend struct ClientCall;
    std::string_view text(Slice slice) const noexcept { return slice.in(head_); }

    Status status_ = Status::ok;
    Version version_ = Version::http11;
    Slice reason_{};
    std::string head_;  // status line and header lines, as received
    HeaderTable fields_;
    Buffer body_;
    std::string request_;  // for the message of operator Buffer()
};

}  // namespace weft::http
