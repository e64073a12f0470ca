// UringSendParts: the message header and parts of one send. The kernel may read them until the send is over.
#pragma once

#include <memory>

#include <sys/socket.h>
#include <sys/uio.h>

namespace weft {

class UringSendParts {
  public:
    static constexpr std::size_t maxParts = 64;

    msghdr message{};
    iovec parts[maxParts];
    std::unique_ptr<UringSendParts> next;  // for its owner's list
};

}  // namespace weft
