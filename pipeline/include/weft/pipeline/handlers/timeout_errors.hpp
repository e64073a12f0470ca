// The exceptions that ReadTimeoutHandler and WriteTimeoutHandler fire before they close the channel.
#pragma once

#include <cerrno>

#include <weft/scheduler/errors.hpp>

namespace weft {

class ReadTimeoutException : public SystemError {
  public:
    ReadTimeoutException() : SystemError(fromErrno(ETIMEDOUT), "nothing was read for too long") {}
};

class WriteTimeoutException : public SystemError {
  public:
    WriteTimeoutException() : SystemError(fromErrno(ETIMEDOUT), "a write took too long") {}
};

}  // namespace weft
