#include "current_carrier.hpp"

#include <weft/scheduler/detail/current_home.hpp>

thread_local constinit weft::Carrier* weftCurrentHome = nullptr;

namespace weft::detail {

namespace {
// initial-exec: the stack overflow handler reads it, and must not allocate thread-local storage.
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

[[gnu::noinline]] void setCurrentHome(Carrier* carrier) noexcept {
    weftCurrentHome = carrier;
    asm volatile("" ::: "memory");
}

#if !defined(__x86_64__)
[[gnu::noinline]] Carrier* currentHome() noexcept {
    asm volatile("" ::: "memory");
    return weftCurrentHome;
}
#endif

}  // namespace weft::detail
