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

    // Several lines for people: what there is, what is missing for the rest, and what `automatic` stands for. The first
    // call asks the kernel, which takes about a millisecond. Context: any thread; blocks.
    static std::string explain();

    // A handler for one event loop; `automatic` is epoll. Throws SystemError when io_uring is asked for and is not
    // available, with the reason: see UringSupport. Context: any thread; allocates; blocks for the first one on io_uring.
    static std::unique_ptr<SocketIoHandler> makeIoHandler(Kind kind = Kind::automatic);
};

}  // namespace weft
