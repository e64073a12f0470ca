// BodyFeed: gives the bodies of one connection to their BodyReaders, piece by piece.
#pragma once

#include <memory>
#include <string_view>

#include <weft/http/body_reader.hpp>
#include <weft/http/response.hpp>

namespace weft {
class Channel;
}

namespace weft::http::detail {

struct StreamedBodies;

// Feeds one body at a time: the others have ended, and may still be read. Context: the channel's loop.
class BodyFeed {
  public:
    BodyFeed() noexcept = default;
    // Cuts the body.
    ~BodyFeed();
    BodyFeed(const BodyFeed&) = delete;
    BodyFeed& operator=(const BodyFeed&) = delete;

    // The body whose pieces follow. `continueDue`: its reader sends 100 Continue once it waits.
    BodyReader begin(Channel& channel, Ticket ticket, bool continueDue);
    // Without a body, each of these does nothing. put() cuts the body and throws std::bad_alloc without memory, so that
    // a body with a missing piece does not look complete.
    void put(Buffer&& data);
    void end(std::unique_ptr<HeaderList> trailers);
    // What has arrived can still be read. `reason`: a constant text.
    void cut(std::string_view reason);
    // Whether a read() is to be withheld, because unread pieces hold too much memory (BodyReader::highMark). Then the
    // BodyReader calls Channel::read() when they hold less.
    bool withholdsRead();

  private:
    std::shared_ptr<StreamedBodies> bodies_;  // null before the first body
    std::shared_ptr<StreamedBody> current_;   // the body that is arriving; null: none
};

}  // namespace weft::http::detail
