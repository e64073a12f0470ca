#include <weft/scheduler/errors.hpp>

namespace weft {

[[gnu::noinline]] int lastErrno() noexcept {
    asm volatile("" ::: "memory");
    return errno;
}

}  // namespace weft
