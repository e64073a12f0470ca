#include "current_carrier.hpp"

namespace weft::detail {

namespace {
// initial-exec: read in the stack overflow handler, where no allocation of thread-local storage may happen.
[[gnu::tls_model("initial-exec")]] thread_local Carrier* current = nullptr;
}  // namespace

[[gnu::noinline]] Carrier* currentCarrier() noexcept {
    asm volatile("" ::: "memory");
    return current;
}

[[gnu::noinline]] void setCurrentCarrier(Carrier* carrier) noexcept {
    current = carrier;
    asm volatile("" ::: "memory");
}

}  // namespace weft::detail
