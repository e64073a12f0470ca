#include "current_carrier.hpp"

thread_local constinit weft::Carrier* weftCurrentCarrier = nullptr;
thread_local constinit weft::Carrier* weftCurrentHome = nullptr;

namespace weft::detail {

[[gnu::noinline]] void setCurrentCarrier(Carrier* carrier) noexcept {
    weftCurrentCarrier = carrier;
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void setCurrentHome(Carrier* carrier) noexcept {
    weftCurrentHome = carrier;
    asm volatile("" ::: "memory");
}

#if !defined(__x86_64__)
[[gnu::noinline]] Carrier* currentCarrier() noexcept {
    asm volatile("" ::: "memory");
    return weftCurrentCarrier;
}
[[gnu::noinline]] Carrier* currentHome() noexcept {
    asm volatile("" ::: "memory");
    return weftCurrentHome;
}
#endif

}  // namespace weft::detail
