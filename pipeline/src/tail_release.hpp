// TailRelease: tells the destructor of a value that the tail of a pipeline is releasing the value, because no handler
// took it. Inside a watched delivery, watchedDelivery tells it that a handler dropped the value.
#pragma once

#include <string>
#include <utility>

#include <weft/pipeline/detail/watched_delivery.hpp>

namespace weft::detail {

// Exists while the tail of a pipeline releases a message on this thread.
class TailRelease {
  public:
    explicit TailRelease(std::string&& lastReader) noexcept : lastReader_(std::move(lastReader)), outer_(current_) {
        watchedDelivery = 0;
        current_ = this;
    }
    ~TailRelease() { current_ = outer_; }
    TailRelease(const TailRelease&) = delete;
    TailRelease& operator=(const TailRelease&) = delete;

    // The innermost one of this thread, or null.
    static const TailRelease* current() noexcept { return current_; }
    // The name of the handler that passed the message on last.
    const std::string& lastReader() const noexcept { return lastReader_; }

  private:
    static thread_local constinit const TailRelease* current_;

    const std::string lastReader_;
    const TailRelease* const outer_;
};

}  // namespace weft::detail
