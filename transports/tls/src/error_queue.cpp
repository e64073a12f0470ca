#include "error_queue.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace weft::detail {

void clearErrors() noexcept {
    if (::ERR_peek_error() != 0) [[unlikely]]
        ::ERR_clear_error();
}

// The numbers of reasons are those of one library each. A bad signature, for example, is found by libcrypto first.
Errors takeErrors() {
    Errors all;
    const char* detail = nullptr;
    int flags = 0;
    while (const unsigned long error = ::ERR_get_error_all(nullptr, nullptr, nullptr, &detail, &flags)) {
        const int number = ERR_GET_REASON(error);
        const bool isOwn = ERR_GET_LIB(error) == ERR_LIB_SSL || number == ERR_R_MALLOC_FAILURE;
        if (all.reason == 0 && isOwn) all.reason = number;
        if (!all.text.empty()) all.text += "; ";
        const char* const reason = ::ERR_reason_error_string(error);
        all.text += reason != nullptr ? std::string(reason) : "error " + std::to_string(number);
        if ((flags & ERR_TXT_STRING) != 0 && detail != nullptr && *detail != '\0')
            all.text += std::string(" (") + detail + ")";
    }
    return all;
}

bool isEndOfPem() noexcept {
    const unsigned long error = ::ERR_peek_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

}  // namespace weft::detail
