// What libssl has put into the calling thread's queue of errors.
#pragma once

#include <string>

namespace weft::detail {

// Before each call of libssl: an error that is left there would be taken for one of the call. A look at an empty queue
// costs a quarter of what clearing it does.
void clearErrors() noexcept;

// The reason of the oldest error, which is the cause; 0: there is none.
int causeOfErrors() noexcept;

// All reasons, the oldest first, with "; " between; empties the queue. Empty: there were none, or no memory.
std::string takeErrors();

}  // namespace weft::detail
