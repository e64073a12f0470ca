// The exceptions that channel operations report, as the cause of a promise or through exceptionCaught().
#pragma once

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/scheduler/errors.hpp>

namespace weft {

// The channel was closed before the operation happened; cause() is the error that closed it, or null. (C-4, E-8)
class ClosedChannelException : public SystemError {
  public:
    explicit ClosedChannelException(std::exception_ptr cause = nullptr)
        : SystemError(fromErrno(EPIPE), "the channel is closed"), cause_(std::move(cause)) {}
    const std::exception_ptr& cause() const noexcept { return cause_; }

  private:
    std::exception_ptr cause_;
};

// The channel was flushed before it was connected. (W-6)
class NotYetConnectedException : public SystemError {
  public:
    NotYetConnectedException() : SystemError(fromErrno(ENOTCONN), "the channel is not connected yet") {}
};

// The output side has been shut down. (HC-3)
class OutputShutdownException : public SystemError {
  public:
    OutputShutdownException() : SystemError(fromErrno(EPIPE), "the channel's output has been shut down") {}
};

// A handler's handlerAdded() or handlerRemoved() threw; the original exception is nested (std::rethrow_if_nested).
// (H-5)
class ChannelPipelineException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The pipeline has no such context, handler or name. (H-1)
class NoSuchElementException : public std::out_of_range {
  public:
    using std::out_of_range::out_of_range;
};

// The head of the pipeline got a message that its transport cannot write.
class UnsupportedMessageException : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

// The ErrorCode of a SystemError; EIO for any other exception, none for null.
ErrorCode errorCodeOf(const std::exception_ptr& cause) noexcept;
namespace detail {
// True for the errors of calls on a connection that has ended, and of waits that were ended.
bool isEndOfConnection(const std::exception_ptr& cause) noexcept;
}  // namespace detail
// The what() of the exception, or a fixed text for null and for one that is no std::exception. For logs.
std::string describe(const std::exception_ptr& cause);

}  // namespace weft
