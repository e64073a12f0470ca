// The context switch as a signal handler sees it: a stack can be taken at each instruction.
#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/both_switches.hpp"
#include "support/sanitized.hpp"

#ifdef __x86_64__
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include <execinfo.h>
#include <ucontext.h>

namespace weft {
namespace {

struct Seen {
    long instructions = 0;
    long switches = 0;
    long mixedStacks = 0;  // went on after the instruction that had changed the stack pointer
    long faults = 0;
};

// While the object exists, the thread that has made it is stopped after each instruction, also in the fibers that it
// runs. The handler then takes a stack, as that of CarrierWatchdog does. One at a time.
class StackAfterEachInstruction {
  public:
    StackAfterEachInstruction() {
        std::array<void*, 1> frame;
        ::backtrace(frame.data(), 1);  // the first call allocates
        seen_ = {};
        stack_ = 0;
        formerTrap_ = handle(SIGTRAP, &onTrap);
        formerFault_ = handle(SIGSEGV, &onFault);
        static_cast<void>(std::raise(SIGTRAP));  // begins
    }
    ~StackAfterEachInstruction() {
        static_cast<void>(std::raise(SIGTRAP));  // ends
        ::sigaction(SIGSEGV, &formerFault_, nullptr);
        ::sigaction(SIGTRAP, &formerTrap_, nullptr);
    }
    StackAfterEachInstruction(const StackAfterEachInstruction&) = delete;
    StackAfterEachInstruction& operator=(const StackAfterEachInstruction&) = delete;

    // Of the last object.
    static const Seen& seen() { return seen_; }

  private:
    static constexpr long long trapFlag = 0x100;
    static constexpr long long longestFrame = 8 * 1024;  // the stacks of two contexts are further apart

    static struct sigaction handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
        struct sigaction action = {}, former = {};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        ::sigaction(signal, &action, &former);
        return former;
    }
    static void onTrap(int, siginfo_t* info, void* context) {
        greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
        if (info->si_code == TRAP_TRACE) {
            afterInstruction(registers[REG_RIP], registers[REG_RSP]);
        } else {
            registers[REG_EFL] ^= trapFlag;
        }
    }
    static void afterInstruction(long long next, long long stack) {
        ++seen_.instructions;
        const bool switches = stack_ != 0 && std::llabs(stack - stack_) > longestFrame;
        stack_ = stack;
        seen_.switches += switches;
        if (sigsetjmp(beforeBacktrace_, 1) == 0) {
            const auto innermost = reinterpret_cast<void*>(next);
            seen_.mixedStacks += outermostFrame() != innermost && switches;
        } else {
            ++seen_.faults;
        }
    }
    static void* outermostFrame() {
        std::array<void*, 64> frames;
        unwinds_ = 1;
        const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
        unwinds_ = 0;
        return frames[static_cast<std::size_t>(count - 1)];
    }
    static void onFault(int, siginfo_t*, void*) {
        if (unwinds_ == 0) std::abort();
        unwinds_ = 0;
        siglongjmp(beforeBacktrace_, 1);
    }

    static inline Seen seen_;
    static inline long long stack_ = 0;  // the stack pointer after the last instruction
    static inline volatile std::sig_atomic_t unwinds_ = 0;
    static inline sigjmp_buf beforeBacktrace_;
    struct sigaction formerTrap_ = {};
    struct sigaction formerFault_ = {};
};

TEST(ContextSwitch, ASignalHandlerMayTakeTheStackAtEachInstructionOfASwitch) {
#ifdef WEFT_SANITIZED
    GTEST_SKIP() << "a program without sanitizers stops after each instruction";
#endif
    for (CarrierOptions options : test::bothSwitches()) {
        options.yieldBudget = std::chrono::seconds(1);  // a run that is over would end the direct switches
        CarrierGroup group(options);
        const auto switches = [] {
            const StackAfterEachInstruction stacks;
            auto fiber = spawn([] { thisFiber::yield(); });
            thisFiber::yield();
            fiber.join();
        };
        group.spawn(switches).join();
        const Seen& seen = StackAfterEachInstruction::seen();
        if (seen.instructions == 0) GTEST_SKIP() << "the trap flag of the processor has no effect here";
        EXPECT_GE(seen.switches, 4);
        EXPECT_EQ(seen.mixedStacks, 0);
        EXPECT_EQ(seen.faults, 0) << "in " << seen.instructions << " instructions";
    }
}

}  // namespace
}  // namespace weft
#endif
