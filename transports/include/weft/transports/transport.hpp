// Transport: which kernel interface an event loop uses. Chosen at run time (docs/reference/rules.md, DEC-10).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <weft/transports/socket_io_handler.hpp>

namespace weft {

struct Transport {
    enum class Kind : unsigned char { automatic, epoll, ioUring };

    // Accepts "auto", "epoll" and "io_uring". Otherwise throws a ConfigurationError that quotes `text`, names `source`
    // (an option or a variable such as WEFT_TRANSPORT) and lists the accepted values. Context: any thread.
    static Kind parse(std::string_view text, std::string_view source = "transport");
    // Returns "auto", "epoll" or "io_uring".
    static std::string_view name(Kind kind) noexcept;

    // The transport that `automatic` selects in this process: ioUring where available, else epoll. The first call
    // probes the kernel, which blocks for about a millisecond, and logs (info) why it chose epoll if it did. Context:
    // any thread.
    static Kind best();

    // A report of several lines: the io_uring features that were probed, up to the first that is missing; that epoll is
    // available; and what `automatic` selects. Context: any thread; the first call probes the kernel, as best() does.
    static std::string explain();

    // Makes a handler for one event loop; `automatic` means best(). Throws SystemError with the reason when io_uring is
    // requested but unavailable: see UringSupport. Context: any thread; allocates; blocks as best() does.
    static std::unique_ptr<SocketIoHandler> makeIoHandler(Kind kind = Kind::automatic);
};

}  // namespace weft
