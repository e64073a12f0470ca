// BodyReader: lets a fiber read a body as it arrives. A slow reader makes the connection stop reading. Created by
// BodyStreamer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <weft/http/header_list.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::http {

namespace detail {
struct StreamedBody;
}

// Move-only. A default-constructed or moved-from reader is a body of no bytes. Destroying a reader discards the rest of
// the body as it arrives.
// Context: any fiber or thread, one at a time. Returning data that has already arrived never blocks.
class BodyReader {
  public:
    // Bytes of memory held by a connection's unread pieces, including the free space in their blocks. At `highMark` the
    // connection stops reading; below `lowMark` it resumes. A read cycle that has begun still completes (at most 1 MiB,
    // see ChannelOption::MAX_MESSAGES_PER_READ), and so does one whose read() has already reached the codec.
    static constexpr std::size_t highMark = 64 * 1024;
    static constexpr std::size_t lowMark = 32 * 1024;

    BodyReader() noexcept = default;
    explicit BodyReader(std::shared_ptr<detail::StreamedBody> body) noexcept : body_(std::move(body)) {}
    BodyReader(BodyReader&&) noexcept = default;
    BodyReader& operator=(BodyReader&& other) noexcept;
    ~BodyReader();

    // Returns the next piece, which is not empty, or std::nullopt at the end of the body. Pieces do not match the
    // sender's chunks: small ones may be joined. Blocks until a piece has arrived, and sends 100 Continue to a client
    // that waits for it. Errors: ECONNABORTED if the rest will not come (malformed, too slow, connection ended),
    // ECANCELED if the fiber is cancelled or its carrier shuts down. They are thrown as SystemError or stored in
    // `error`. Both overloads throw BlockingOperationException if they would block where blocking is not allowed.
    std::optional<Buffer> read();
    std::optional<Buffer> read(ErrorCode& error);

    // Bytes that read() can return without blocking.
    std::size_t available() const noexcept;
    // The trailer fields of a chunked body, once read() has returned std::nullopt. Lifetime: as long as this reader.
    const HeaderList& trailers() const noexcept;

  private:
    void abandon() noexcept;
    std::shared_ptr<detail::StreamedBody> body_;
};

}  // namespace weft::http
