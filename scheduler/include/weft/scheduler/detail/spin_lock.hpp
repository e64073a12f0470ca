// SpinLock: the lock inside a queue or cell of weft::sync, held for a few instructions. docs/explanation/protocol.md
// section 20.
#pragma once

#include <cstdint>
#include <thread>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What a thread does while another one holds the lock: it waits a little, then gives up its time slice, because the
// owner may have been preempted.
class Backoff {
  public:
    void operator()() noexcept {
        if (++rounds_ % spins == 0) return std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

  private:
    static constexpr unsigned spins = 64;
    unsigned rounds_ = 0;
};

// Nothing suspends, allocates or calls user code that may block while it is held. It takes one read-modify-write for a
// lock and an unlock, where std::mutex takes two. The unlock is the last access: another thread may then destroy it.
template <class P, class Pause = Backoff>
class BasicSpinLock {
  public:
    void lock() noexcept {
        Pause pause;
        while (word_.exchange(1, std::memory_order_acquire) != 0) {      // [Y1]
            while (word_.load(std::memory_order_relaxed) != 0) pause();  // the exchange decides
        }
    }
    void unlock() noexcept { word_.store(0, std::memory_order_release); }  // [Y1]

  private:
    typename P::template Atomic<std::uint32_t> word_{0};
};

using SpinLock = BasicSpinLock<NativeAtomics>;

}  // namespace weft::detail
