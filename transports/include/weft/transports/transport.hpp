// Transport: which kernel interface an event loop uses; chosen at run time (architecture D10).
#pragma once

#include <memory>
#include <string_view>

#include <weft/transports/socket_io_handler.hpp>

namespace weft {

struct Transport {
    enum class Kind : unsigned char { automatic, epoll, ioUring };

    // "auto", "epoll" or "io_uring". Throws ConfigurationError that quotes `text`, names `source` (an option or a variable such as
    // WEFT_TRANSPORT) and lists the accepted values. Context: any thread.
    static Kind parse(std::string_view text, std::string_view source = "transport");
    // "auto", "epoll", "io_uring".
    static std::string_view name(Kind kind) noexcept;

    // A handler for one event loop. Context: any thread; allocates; the kernel is asked in IoHandler::open().
    static std::unique_ptr<SocketIoHandler> makeIoHandler(Kind kind = Kind::automatic);
};

}  // namespace weft
