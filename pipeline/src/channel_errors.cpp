#include <weft/pipeline/channel_errors.hpp>

#include <cerrno>

namespace weft {

ErrorCode errorCodeOf(const std::exception_ptr& cause) noexcept {
    if (!cause) return {};
    try {
        std::rethrow_exception(cause);
    } catch (const SystemError& error) {
        return error.code();
    } catch (...) {
        return fromErrno(EIO);
    }
}

bool detail::isEndOfConnection(const std::exception_ptr& cause) noexcept {
    const ErrorCode code = errorCodeOf(cause);
    for (const int end : {EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN}) {
        if (code == fromErrno(end)) return true;
    }
    return code == operationAborted();
}

std::string describe(const std::exception_ptr& cause) {
    if (!cause) return "no error";
    try {
        std::rethrow_exception(cause);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

}  // namespace weft
