// ContextLookup: a call of SslServerOptions::lookup for a fiber's stream, in a fiber of its own, so that a deadline or
// a cancellation of a reader does not end it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/join_handle.hpp>
#include <weft/tls/ssl_context.hpp>

#include "io_turn.hpp"

namespace weft::detail {

// Context: fibers of the carrier.
class ContextLookup {
  public:
    using Call = std::function<std::optional<SslContext>()>;

    // `end`: the call is cancelled then. Throws as Carrier::spawn().
    static std::shared_ptr<ContextLookup> begin(Carrier& carrier, Call call, Deadline end);

    bool done() const noexcept { return done_; }
    // Waits until done(), or cancel().
    ErrorCode await(Deadline deadline) { return waiters_.await("TlsStream::handshake", deadline); }
    void cancel() noexcept {
        fiber_.cancel();
        waiters_.wakeAll();
    }

    // Once done.
    const std::optional<SslContext>& found() const noexcept { return found_; }
    const ErrorCode& error() const noexcept { return error_; }
    const std::string& text() const noexcept { return text_; }

  private:
    void run(const Call& call, Deadline end) noexcept;

    JoinHandle<void> fiber_;
    IoTurn waiters_;
    std::optional<SslContext> found_;
    ErrorCode error_;
    std::string text_;
    bool done_ = false;
};

}  // namespace weft::detail
