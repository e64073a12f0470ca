// BodyCollector: makes a FullRequest of a Request and the pieces of its body.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <weft/http/refusal.hpp>
#include <weft/http/request.hpp>

namespace weft::http::detail {

// Holds at most one request, whose body is being collected. What it refuses, its owner answers.
class BodyCollector {
  public:
    static constexpr Refusal unknownExpectation{Status::expectationFailed, "only 100-continue is supported"};
    static constexpr Refusal tooLarge{Status::contentTooLarge, "the body is larger than this server accepts"};

    // Why a request is not to be collected: another expectation than 100-continue (417), or a body that is announced
    // to be too large (413).
    static std::optional<Refusal> refusalOf(const RequestHead& head, std::size_t maxBodyBytes) noexcept;

    // Drops a request that is held, so that the codec answers it.
    void begin(Request&& request) noexcept { request_ = std::move(request); }
    bool holds() const noexcept { return request_.data_ != nullptr; }
    // Returns false, and nothing has changed, if the body would exceed the limit. Drops the request and throws
    // std::bad_alloc without memory, so that a body with a missing piece does not look complete.
    [[nodiscard]] bool append(Buffer&& data, std::size_t maxBodyBytes);
    FullRequest end(std::unique_ptr<HeaderList> trailers);
    // The request, which is no longer held.
    Request take() noexcept { return std::move(request_); }
    void drop() noexcept { const Request dropped = take(); }

    // As it is: for one without a body.
    static FullRequest whole(Request&& request) noexcept { return FullRequest(std::move(request.data_)); }

  private:
    Request request_{nullptr};  // without data: none
};

}  // namespace weft::http::detail
