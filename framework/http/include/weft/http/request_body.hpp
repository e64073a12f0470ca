// RequestBody: the body of a Call, whole or piece by piece.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <weft/http/body_reader.hpp>
#include <weft/http/header_list.hpp>
#include <weft/http/request.hpp>
#include <weft/pipeline/buffer.hpp>

namespace weft::http {

namespace detail {
class ServicePlan;
// A body that is not worth to be read and discarded, so that the connection can go on after an answer without it.
bool isLongBody(const RequestHead& head) noexcept;
}  // namespace detail

// Of a route with RouteOptions::streamed, the body arrives while the route's function runs, and a call that has to wait
// for it blocks; of any other route, the body has arrived, and nothing blocks. Errors: an Error of status 400 when the
// rest of the body will not come, 413 when the body is longer than RouteOptions::maxBody, of which read() has then
// returned no more than that (or, read as a whole, than 8 MiB if a streamed route has no such limit), and a SystemError
// of operation_aborted as for any wait. Context: the route's function.
class RequestBody {
  public:
    // The next piece, which is not empty; std::nullopt at the end. A whole body is one piece.
    std::optional<Buffer> read();
    // What has not been read, to its end; holds it in memory. The view is valid as long as the Call, and until the next
    // read() or take().
    std::string_view view();
    Buffer take();
    // The trailer fields of a chunked body, once it has been read to its end.
    const HeaderList& trailers() const noexcept {
        return arriving_ ? arriving_->reader.trailers() : request_.trailers();
    }

  private:
    friend class Call;
    friend class detail::ServicePlan;
    struct Arriving {
        BodyReader reader;
        std::size_t left;         // bytes that may still arrive
        std::size_t maxGathered;  // bytes of `rest`
        Buffer rest = {};         // gathered, and not read
        bool ended = false;
        bool tooLong = false;
    };
    RequestBody(FullRequest& request, std::unique_ptr<Arriving> arriving) noexcept
        : request_(request), arriving_(std::move(arriving)) {}

    std::optional<Buffer> next();
    void gather();
    [[noreturn]] void refuse();
    // The rest of the body is long, and not to be read after the answer.
    bool leavesMuch() const noexcept { return arriving_ && !arriving_->ended && restIsLong(); }
    bool restIsLong() const noexcept;

    FullRequest& request_;                // has a body that has arrived whole
    std::unique_ptr<Arriving> arriving_;  // null: it has
};

}  // namespace weft::http
