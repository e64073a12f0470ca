// What libssl has put into the calling thread's queue of errors.
#pragma once

#include <string>

namespace weft::detail {

// Before each call of libssl: an error that is left there would be taken for one of the call. A look at an empty queue
// costs a quarter of what clearing it does.
void clearErrors() noexcept;

struct Errors {
    int reason = 0;    // libssl's own, or ERR_R_MALLOC_FAILURE; 0: there is none
    std::string text;  // all reasons, of all of OpenSSL's libraries, the oldest first
};

// Empties the queue. Throws std::bad_alloc.
Errors takeErrors();

// True if the oldest error is that the PEM data has no more blocks.
bool isEndOfPem() noexcept;

}  // namespace weft::detail
