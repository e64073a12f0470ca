// currentCarrier(): the carrier that this thread is; null for a plain thread. currentHome(): the carrier whose event
// loop the running code may use directly. It is the current carrier while that runs its own code or a fiber whose home
// it is; otherwise null.
#pragma once

namespace weft {
class Carrier;
}

// Written only by the scheduler. They have C linkage, so that the assembly below can refer to them. initial-exec also
// because the handler of stack overflows reads the first, and must not allocate thread-local storage.
extern "C" {
extern thread_local constinit weft::Carrier* weftCurrentCarrier [[gnu::tls_model("initial-exec")]];
extern thread_local constinit weft::Carrier* weftCurrentHome [[gnu::tls_model("initial-exec")]];
}

namespace weft::detail {

// Two instructions each, because every wait and every channel operation calls one. Assembly, because the compiler would
// keep the address of a thread-local variable across a fiber switch, after which the fiber may run on another thread.
#if defined(__x86_64__)
inline Carrier* currentCarrier() noexcept {
    Carrier* carrier;
    asm volatile("movq weftCurrentCarrier@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(carrier));
    return carrier;
}
inline Carrier* currentHome() noexcept {
    Carrier* home;
    asm volatile("movq weftCurrentHome@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(home));
    return home;
}
#else
Carrier* currentCarrier() noexcept;
Carrier* currentHome() noexcept;
#endif

// Call it if currentHome() differs from `home`. If `home` is the running fiber's home, moves the fiber there and
// returns true. Returns false for a fiber of another home, where nothing may suspend, and outside of fibers.
[[gnu::cold]] bool comeHome(const Carrier& home) noexcept;

}  // namespace weft::detail
