#include "error_queue.hpp"

#include <openssl/err.h>

namespace weft::detail {

void clearErrors() noexcept {
    if (::ERR_peek_error() != 0) [[unlikely]]
        ::ERR_clear_error();
}

int causeOfErrors() noexcept {
    return ERR_GET_REASON(::ERR_peek_error());
}

std::string takeErrors() {
    std::string all;
    const char* detail = nullptr;
    int flags = 0;
    while (const unsigned long error = ::ERR_get_error_all(nullptr, nullptr, nullptr, &detail, &flags)) {
        if (!all.empty()) all += "; ";
        const char* const reason = ::ERR_reason_error_string(error);
        all += reason != nullptr ? std::string(reason) : "error " + std::to_string(ERR_GET_REASON(error));
        if ((flags & ERR_TXT_STRING) != 0 && detail != nullptr && *detail != '\0')
            all += std::string(" (") + detail + ")";
    }
    return all;
}

}  // namespace weft::detail
