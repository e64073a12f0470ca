// The program's own operators new and delete, which allocation_test.cpp defines; sanitizers need one of their own.
#pragma once

#include <cstddef>

namespace weft::test {

// While it is true, the heap has no memory for this thread.
inline constinit thread_local bool heapIsFull = false;

// The number of blocks that this thread has returned to the heap.
inline constinit thread_local std::size_t blocksReturned = 0;

}  // namespace weft::test
