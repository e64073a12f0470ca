// The three error lanes of the scheduler (docs/adr/0006): program bugs assert, refusals of the world are error codes
// (thrown as boost::system::system_error by the throwing twin of a call), user exceptions travel to join().
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace weft {

using ErrorCode = boost::system::error_code;
using SystemError = boost::system::system_error;

// A wait that a cancellation, its carrier's shutdown or a close ended: equal to Asio's operation_aborted.
inline ErrorCode operationAborted() noexcept {
    return {ECANCELED, boost::system::system_category()};
}
// A wait that its deadline ended.
inline ErrorCode timedOut() noexcept {
    return {ETIMEDOUT, boost::system::system_category()};
}

inline ErrorCode fromErrno(int error) noexcept {
    return {error, boost::system::system_category()};
}

// The calling thread's errno. A compiler may keep the address of `errno` over a suspension, after which a fiber that
// has come to another thread would read the former one's: in a fiber, ask here. Never inlined.
int lastErrno() noexcept;

// A blocking call was made where nothing may block: inside event-loop dispatch or a pipeline entry, in a listener, on a
// hosted poller, or in code that a carrier runs outside any fiber (timer callbacks, destructors of results that nobody
// joined and of Carrier::local() services). The message names the call; the remedy is to spawn a fiber and to block
// there.
class BlockingOperationException : public std::logic_error {
  public:
    explicit BlockingOperationException(const std::string& call)
        : std::logic_error(
              call + " would block inside event-loop dispatch, a pipeline call, a listener, or a carrier's own code; "
                     "spawn a fiber and call it there") {}
};

// A configured value (option, environment variable) was refused; the message names it, the value and what is accepted.
class ConfigurationError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

}  // namespace weft
