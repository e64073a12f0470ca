// ClientResponse: what a backend answered.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/received_head.hpp>
#include <weft/pipeline/http/response_encoder.hpp>
#include <weft/pipeline/http/status.hpp>
#include <weft/pipeline/http/version.hpp>

namespace weft::http {

// Move-only value; views live as long as it does and is not moved. Context: one thread or fiber at a time.
class ClientResponse {
  public:
    Status status() const noexcept { return received_.status; }
    bool succeeded() const noexcept { return codeOf(status()) / 100 == 2; }
    Version version() const noexcept { return received_.version; }
    // As the backend wrote it; may be empty.
    std::string_view reason() const noexcept { return text(received_.reason); }

    // How the body goes on the wire: for whoever hands it on.
    const ReceivedHead& head() const noexcept { return received_; }

    std::size_t headerCount() const noexcept { return received_.headers.size(); }
    // index < headerCount().
    HeaderView headerAt(std::size_t index) const {
        const HeaderField& field = received_.headers.fields()[index];
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
    friend class Client;
    std::string_view text(Slice slice) const noexcept { return slice.in(head_); }

    ReceivedHead received_;
    std::string head_;  // status line and header lines, as received
    Buffer body_;
    std::string server_;  // of which `target_` was asked: for the message of operator Buffer()
    std::string target_;
};

}  // namespace weft::http
