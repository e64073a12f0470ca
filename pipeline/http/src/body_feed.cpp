#include <weft/http/detail/body_feed.hpp>

#include <mutex>
#include <utility>

#include "streamed_body.hpp"

namespace weft::http::detail {

BodyFeed::~BodyFeed() {
    cut("its handler was destroyed");
}

BodyReader BodyFeed::begin(Channel& channel, Ticket ticket, bool continueDue) {
    if (!bodies_) bodies_ = std::make_shared<StreamedBodies>();
    current_ = std::make_shared<StreamedBody>(bodies_, channel, ticket, continueDue);
    return BodyReader(current_);
}

void BodyFeed::put(Buffer&& data) {
    if (!current_) return;
    try {
        current_->readers.changeAndWakeAll(bodies_->lock, [&] {
            if (current_->abandoned) return;
            const std::size_t before = current_->pieces.held();
            current_->pieces.put(std::move(data));
            bodies_->held += current_->pieces.held() - before;
        });
    } catch (...) {
        cut("there was not enough memory for its next piece");
        throw;
    }
}

void BodyFeed::end(std::unique_ptr<HeaderList> trailers) {
    if (!current_) return;
    current_->readers.changeAndWakeAll(bodies_->lock, [&] {
        current_->ended = true;
        current_->trailers = std::move(trailers);
    });
    current_.reset();
}

void BodyFeed::cut(std::string_view reason) {
    if (!current_) return;
    current_->readers.changeAndWakeAll(bodies_->lock, [&] {
        current_->cut = true;
        current_->cutReason = reason;
    });
    current_.reset();
}

bool BodyFeed::withholdsRead() {
    if (!bodies_) return false;
    std::lock_guard held(bodies_->lock);
    if (bodies_->held < BodyReader::highMark) return false;
    bodies_->withheld = true;
    return true;
}

}  // namespace weft::http::detail
