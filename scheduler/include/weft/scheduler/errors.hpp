// The scheduler's three kinds of error (docs/adr/0006). Program bugs fail an assertion. Failures of the environment are
// error codes; the throwing overload of a call throws them as boost::system::system_error. Exceptions of user code
// reach the caller of join().
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace weft {

using ErrorCode = boost::system::error_code;
using SystemError = boost::system::system_error;

// A cancellation, the carrier's shutdown or a close ended the wait. Equal to Asio's operation_aborted.
inline ErrorCode operationAborted() noexcept {
    return {ECANCELED, boost::system::system_category()};
}
// The deadline passed before the wait ended otherwise.
inline ErrorCode timedOut() noexcept {
    return {ETIMEDOUT, boost::system::system_category()};
}

inline ErrorCode fromErrno(int error) noexcept {
    return {error, boost::system::system_category()};
}

// The calling thread's errno. Use it in fibers instead of `errno`: a compiler may keep the address of `errno` across a
// suspension, and a fiber that has moved to another thread would read the previous thread's value. Never inlined.
int lastErrno() noexcept;

// Thrown by a blocking call where nothing may block: inside event-loop dispatch or a pipeline entry, in a listener, in
// a hosted poller's body, or in code that a carrier runs outside any fiber (timer callbacks, destructors of unjoined
// results and of Carrier::local() services). The message names the call. To fix it, spawn a fiber and block there.
class BlockingOperationException : public std::logic_error {
  public:
    explicit BlockingOperationException(const std::string& call)
        : std::logic_error(
              call + " would block inside event-loop dispatch, a pipeline call, a listener, or a carrier's own code; "
                     "spawn a fiber and call it there") {}
};

// An option or environment variable has an invalid value. The message names the option, the value and the accepted
// range.
class ConfigurationError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

}  // namespace weft
