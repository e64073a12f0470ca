// User events of a channel whose bytes are encrypted by TLS.
#pragma once

#include <weft/scheduler/errors.hpp>

namespace weft {

// The handshake has succeeded or failed. Fired once, before any decrypted byte. After a failure the channel closes.
struct SslHandshakeCompletionEvent {
    ErrorCode error;  // none: it succeeded
    bool succeeded() const noexcept { return !error; }
};

// The peer has ended its output by a close_notify alert, so nothing was cut off. Fired once, before the channel reacts
// to the end of its input. A connection that ends without this alert fires exceptionCaught() instead.
struct SslCloseCompletionEvent {};

}  // namespace weft
