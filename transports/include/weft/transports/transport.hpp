// Transport: which kernel interface an event loop uses; chosen at run time (architecture D10).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <weft/transports/socket_io_handler.hpp>

namespace weft {

struct Transport {
    enum class Kind : unsigned char { automatic, epoll, ioUring };

    // "auto", "epoll" or "io_uring". Throws ConfigurationError that quotes `text`, names `source` (an option or a variable
    // such as WEFT_TRANSPORT) and lists the accepted values. Context: any thread.
    static Kind parse(std::string_view text, std::string_view source = "transport");
    // "auto", "epoll", "io_uring".
    static std::string_view name(Kind kind) noexcept;

    // What `automatic` stands for in this process: ioUring where it is available, else epoll. The first call asks the
    // kernel, and logs the reason (info) when that is epoll. Context: any thread; blocks then for about a millisecond.
    static Kind best();

    // Several lines for people: what there is, what is missing for the rest, and what `automatic` stands for. Context:
    // as best().
    static std::string explain();

    // A handler for one event loop; `automatic` is best(). Throws SystemError when io_uring is asked for and is not
    // available, with the reason: see UringSupport. Context: any thread; allocates; blocks as best() does.
    static std::unique_ptr<SocketIoHandler> makeIoHandler(Kind kind = Kind::automatic);
};

}  // namespace weft
