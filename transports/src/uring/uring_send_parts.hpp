// UringSendParts: the description of a send of several pieces, which the kernel may read until the send is over.
#pragma once

#include <memory>

#include <sys/socket.h>
#include <sys/uio.h>

namespace weft {

class UringSendParts {
  public:
    static constexpr std::size_t most = 64;

    msghdr message{};
    iovec parts[most];
    std::unique_ptr<UringSendParts> next;  // its owner's
};

}  // namespace weft
