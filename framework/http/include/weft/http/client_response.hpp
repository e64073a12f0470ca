// ClientResponse: the response of a backend.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/http/received_head.hpp>
#include <weft/http/response_encoder.hpp>
#include <weft/http/status.hpp>
#include <weft/http/version.hpp>
#include <weft/pipeline/buffer.hpp>

namespace weft::http {

// A move-only value. Views are valid until it is moved or destroyed. Context: one thread or fiber at a time.
class ClientResponse {
  public:
    Status status() const noexcept { return received_.status; }
    bool succeeded() const noexcept { return codeOf(status()) / 100 == 2; }
    Version version() const noexcept { return received_.version; }
    // As sent by the backend; may be empty.
    std::string_view reason() const noexcept { return text(received_.reason); }

    // The parsed head, with the framing of the body, for code that forwards the response.
    const ReceivedHead& head() const noexcept { return received_; }

    std::size_t headerCount() const noexcept { return received_.headers.size(); }
    // `index` < headerCount().
    HeaderView headerAt(std::size_t index) const { return received_.headers.at(index, head_.view()); }
    // The first header of this name (case-insensitive), or nothing.
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return received_.headers.find(name, head_.view());
    }

    std::string_view body() const noexcept { return body_.view(); }
    // A small body may share its block with the head, so it may be not unique() while the response lives.
    Buffer takeBody() noexcept { return std::move(body_); }
    // The body of a 2xx response, for callers that need nothing else: `Buffer body = http::get(...)`. Throws
    // ClientError for any other status. No other use of a response does, so a function of joinAll() or firstSuccess()
    // that is to fail then returns a Buffer: `[&]() -> Buffer { return http::get(...); }`.
    operator Buffer() &&;

  private:
    friend class ClientResponseParser;
    friend class Client;
    std::string_view text(Slice slice) const noexcept { return slice.in(head_.view()); }

    ReceivedHead received_;
    Buffer head_;          // status line and header lines, as received
    Buffer body_;          // may share the block of head_
    std::string request_;  // unless succeeded(): "GET http://host:80/path", for the exception of operator Buffer()
};

}  // namespace weft::http
