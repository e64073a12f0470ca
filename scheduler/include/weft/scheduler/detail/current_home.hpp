// CurrentHome: the carrier whose event loop the running code may act for: this thread's, while it runs its own code or a
// fiber whose home it is; null anywhere else.
#pragma once

namespace weft {
class Carrier;
}

// Written by the scheduler only. A C name, so that the code below can name it.
extern "C" {
extern thread_local constinit weft::Carrier* weftCurrentHome [[gnu::tls_model("initial-exec")]];
}

namespace weft::detail {

// Two instructions, because every operation on a channel asks. The compiler must not see that this is a thread-local: it
// would keep its address over a fiber switch, after which the thread may be another one.
#if defined(__x86_64__)
inline Carrier* currentHome() noexcept {
    Carrier* home;
    asm volatile("movq weftCurrentHome@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(home));
    return home;
}
#else
Carrier* currentHome() noexcept;
#endif

// Call it after currentHome() was found to differ from `home`. If `home` is the running fiber's home, switches the fiber to it
// and returns true. Returns false for a fiber of another home, where nothing may suspend, and outside of fibers.
[[gnu::cold]] bool comeHome(const Carrier& home) noexcept;

}  // namespace weft::detail
