// BodyStream: a BodyWriter that gathers short texts.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <weft/http/responder.hpp>

namespace weft::http::detail {

// Destroying it without end() cuts the body, and so does an exception of send() or of the loop's task: a part of the
// body may be missing. Context: a fiber on the channel's carrier, or its loop.
class BodyStream {
  public:
    static constexpr std::size_t gathered = 16 * 1024;  // bytes: those of a TLS record

    explicit BodyStream(BodyWriter writer) noexcept : writer_(std::move(writer)) {}
    ~BodyStream();
    BodyStream(const BodyStream&) = delete;
    BodyStream& operator=(const BodyStream&) = delete;

    void send(Buffer piece);
    void send(std::string_view text);
    void end(HeaderList trailers);

  private:
    struct Turn;  // what the loop's task sees

    template <class Send>
    void whole(Send send);
    void gather(std::string_view text);
    void sendGathered();
    void sendAtEndOfTurn();

    BodyWriter writer_;
    Buffer pending_;
    bool broken_ = false;         // a part of the body may be missing
    std::shared_ptr<Turn> turn_;  // null before the first short text
};

}  // namespace weft::http::detail
