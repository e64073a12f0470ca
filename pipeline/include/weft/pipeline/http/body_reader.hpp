// BodyReader: a body that a fiber reads while it comes; a slow fiber stops the connection's reading. Handed out by
// BodyStreamer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::http {

namespace detail {
struct StreamedBody;
}

// Move-only; an empty one is a body of no bytes. Dropping it throws the rest of the body away as it comes.
// Context: one fiber or thread at a time, any. What has come is handed out without blocking, wherever the caller is.
class BodyReader {
  public:
    // Bytes of memory that the unread pieces of a connection hold, with what is free in their blocks: from the high mark
    // on its reading stops, below the low mark it goes on. A read cycle (1 MiB at most, see ChannelOption::MAX_MESSAGES_PER_READ) that has begun still ends, and so
    // does one that the codec has been permitted.
    static constexpr std::size_t highMark = 64 * 1024;
    static constexpr std::size_t lowMark = 32 * 1024;

    BodyReader() noexcept = default;
    explicit BodyReader(std::shared_ptr<detail::StreamedBody> body) noexcept : body_(std::move(body)) {}
    BodyReader(BodyReader&&) noexcept = default;
    BodyReader& operator=(BodyReader&& other) noexcept;
    ~BodyReader();

    // The next piece, not empty; nothing at the end of the body. Pieces are not the chunks of the sender: small ones
    // that wait are handed out together. Blocks until there is one, and tells a client that
    // waits for it to go on (100 Continue). Failures: ECONNABORTED when the rest will not come (malformed, too slow,
    // the connection has ended), ECANCELED when the fiber is cancelled or the carrier shuts down; thrown as
    // SystemError, or left in `error`. Throws BlockingOperationException where nothing may block and it would.
    std::optional<Buffer> read();
    std::optional<Buffer> read(ErrorCode& error);

    // Bytes that read() hands out without blocking.
    std::size_t available() const noexcept;
    // The fields behind a chunked body; after read() has returned nothing. Lifetime: as long as this reader.
    const HeaderList& trailers() const noexcept;

  private:
    void abandon() noexcept;
    std::shared_ptr<detail::StreamedBody> body_;
};

}  // namespace weft::http
