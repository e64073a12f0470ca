// Calls of the program's own operator delete, which allocation_test.cpp defines; sanitizers need one of their own.
#pragma once

#include <cstddef>

namespace weft::test {

// The number of blocks that this thread has returned to the heap.
inline constinit thread_local std::size_t blocksReturned = 0;

}  // namespace weft::test
