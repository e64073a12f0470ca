#include "stack_sample.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>

#include "fiber_access.hpp"
#include "futex.hpp"

namespace weft::detail {

namespace {

// Steps of one sample. Writers: the requesting thread (idle to requested and back, recorded to idle); the handler
// (requested to recording to recorded); a forked process (to idle). The handler owns the other members while it
// records. [G2]
enum SampleStep : std::uint32_t { idle, requested, recording, recorded };

struct SampleSlot {
    std::atomic<std::uint32_t> step{idle};
    std::atomic<int> threadId{0};
    std::uint64_t fiberId = 0;
    bool isPoller = false;
    bool inFiber = false;
    char name[Fiber::nameLimit] = {};
    std::size_t nameLength = 0;
    std::array<void*, 64> frames{};
    int frameCount = 0;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler uses them");

constinit SampleSlot sampleSlot;
constinit std::mutex samplesLock;  // one sample at a time

void recordFiber() noexcept {
    const Fiber* const fiber = FiberAccess::currentFiber();
    sampleSlot.inFiber = fiber != nullptr;
    if (fiber == nullptr) return;
    sampleSlot.fiberId = fiber->id;
    sampleSlot.isPoller = fiber->isPoller;
    const FiberName fiberName(*fiber);
    sampleSlot.nameLength = std::string_view(fiberName).copy(sampleSlot.name, sizeof sampleSlot.name);
}

// Async-signal-safe. A late signal, of a request that was withdrawn, finds another step or another thread's request.
void onSampleSignal(int) noexcept {
    const int error = errno;
    std::uint32_t expected = requested;
    if (sampleSlot.threadId.load(std::memory_order_relaxed) == ::gettid() &&
        sampleSlot.step.compare_exchange_strong(expected, recording, std::memory_order_acquire,  // [G2]
                                                std::memory_order_relaxed)) {
        recordFiber();
        sampleSlot.frameCount = ::backtrace(sampleSlot.frames.data(), static_cast<int>(sampleSlot.frames.size()));
        sampleSlot.step.store(recorded, std::memory_order_release);  // [G2]
        futexWake(sampleSlot.step);
    }
    errno = error;
}

// In a forked process: the thread that holds the lock, or that should record, is not there.
void forgetSample() noexcept {
    std::construct_at(&samplesLock);
    sampleSlot.step.store(idle, std::memory_order_relaxed);  // there is one thread
}

bool awaitRecord(Deadline deadline) noexcept {
    for (;;) {
        const std::uint32_t step = sampleSlot.step.load(std::memory_order_acquire);  // [G2]
        if (step == recorded) return true;
        if (Clock::steady().now() >= deadline) return false;
        futexWait(sampleSlot.step, step, deadline);
    }
}

// The first two frames are the handler and the kernel's return from it.
constexpr int handlerFrames = 2;

StackSample copyOfSlot() {
    StackSample sample;
    if (sampleSlot.inFiber) sample.fiber.assign(sampleSlot.name, sampleSlot.nameLength);
    sample.fiberId = sampleSlot.inFiber ? sampleSlot.fiberId : 0;
    sample.isPoller = sampleSlot.inFiber && sampleSlot.isPoller;
    for (int i = handlerFrames; i < sampleSlot.frameCount; ++i) {
        sample.frames.push_back(sampleSlot.frames[static_cast<std::size_t>(i)]);
    }
    return sample;
}

// True: the request has been withdrawn. False: the thread records now, or has recorded.
bool withdrawRequest() noexcept {
    std::uint32_t expected = requested;
    return sampleSlot.step.compare_exchange_strong(expected, idle, std::memory_order_relaxed,  // nothing was published
                                                   std::memory_order_relaxed);
}

}  // namespace

void handleSampleSignal(int signal) {
    void* first = nullptr;
    ::backtrace(&first, 1);  // the first call loads libgcc, which allocates
    static const int refused = ::pthread_atfork(nullptr, nullptr, &forgetSample);
    if (refused != 0) throw SystemError(fromErrno(refused), "pthread_atfork");
    struct sigaction action = {}, former = {};
    const std::string name = "CarrierWatchdog: signal " + std::to_string(signal);
    if (::sigaction(signal, nullptr, &former) < 0) throw std::invalid_argument(name + " does not exist");
    if (former.sa_handler == &onSampleSignal) return;
    if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
        throw std::invalid_argument(name + " has a handler already; set CarrierWatchdogOptions::signal to another one");
    }
    action.sa_handler = &onSampleSignal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
    if (::sigaction(signal, &action, nullptr) < 0) throw std::invalid_argument(name + " cannot be handled");
}

bool takeSample(int threadId, int signal, Duration timeout, StackSample& sample) {
    const std::lock_guard held(samplesLock);
    // Recorded: an answer that came too late. Acquires the handler's last accesses. [G2]
    const std::uint32_t step = sampleSlot.step.load(std::memory_order_acquire);
    if (step != idle && step != recorded) return false;
    sampleSlot.threadId.store(threadId, std::memory_order_relaxed);  // [G2] publishes it
    sampleSlot.step.store(requested, std::memory_order_release);     // [G2]
    const bool sent = ::syscall(SYS_tgkill, ::getpid(), threadId, signal) == 0;
    const bool answered = sent && awaitRecord(deadlineAfter(Clock::steady().now(), timeout));
    if (!answered && withdrawRequest()) return false;
    // If the thread is in the handler, it needs only a moment, unless it is not scheduled.
    if (!awaitRecord(deadlineAfter(Clock::steady().now(), timeout))) return false;
    sample = copyOfSlot();
    sampleSlot.step.store(idle, std::memory_order_relaxed);  // the next request is under the lock
    return true;
}

std::string describeFrame(const void* address) {
    Dl_info info = {};
    char offset[32];
    if (::dladdr(address, &info) == 0) {
        std::snprintf(offset, sizeof offset, "%p", address);
        return offset;
    }
    const bool named = info.dli_sname != nullptr;
    const void* const base = named ? info.dli_saddr : info.dli_fbase;
    std::snprintf(offset, sizeof offset, "+0x%zx",
                  static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(base)));
    if (!named) return std::string(info.dli_fname) + offset;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
    return std::string(readable != nullptr ? readable.get() : info.dli_sname) + offset;
}

}  // namespace weft::detail
