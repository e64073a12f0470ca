// The floating-point environment of fibers: each keeps its own over its waits, as over a call.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "context_switch.hpp"
#include "scheduler/both_switches.hpp"

#ifdef WEFT_INLINE_SWITCH
#include <fpu_control.h>
#include <xmmintrin.h>
#endif

namespace weft {
namespace {

using test::bothSwitches;

CarrierOptions oneCarrier() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

// Runs `change`, then a yield; meanwhile another fiber runs `look` twice, before and after the first one's end.
template <class Change, class Look>
void besideAFiberThat(const CarrierOptions& options, Change change, Look look) {
    CarrierGroup group(options);
    bool changed = false;
    bool looked = false;
    auto testFiber = group.spawn([&] {
        auto first = spawn([&] {
            change();
            changed = true;
            while (!looked) thisFiber::yield();
        });
        auto second = spawn([&] {
            while (!changed) thisFiber::yield();
            look();
            looked = true;
            first.join();
            look();
        });
        second.join();
    });
    testFiber.join();
}
template <class Change, class Look>
void besideAFiberThat(Change change, Look look) {
    for (const CarrierOptions& options : bothSwitches()) besideAFiberThat(options, change, look);
}

TEST(FloatingPoint, ARoundingModeIsThatOfItsFiber) {
    besideAFiberThat([] { ASSERT_EQ(std::fesetround(FE_UPWARD), 0); },
                     [] { EXPECT_EQ(std::fegetround(), FE_TONEAREST); });
}

void expectRoundingModeAfterWaits(const CarrierOptions& options) {
    CarrierGroup group(options);
    auto fiber = group.spawn([] {
        auto other = spawn([] {
            for (int i = 0; i < 5; ++i) thisFiber::yield();
        });
        std::fesetround(FE_UPWARD);
        for (int i = 0; i < 3; ++i) {
            thisFiber::yield();
            EXPECT_EQ(std::fegetround(), FE_UPWARD);
            EXPECT_EQ(std::lrint(0.25), 1);
        }
        other.join();
        EXPECT_EQ(std::fegetround(), FE_UPWARD);
    });
    fiber.join();
}

TEST(FloatingPoint, AFiberFindsItsRoundingModeAfterAWait) {
    for (const CarrierOptions& options : bothSwitches()) expectRoundingModeAfterWaits(options);
}

#ifdef WEFT_INLINE_SWITCH  // fcontext begins with the environment of the spawn, and with its status flags

TEST(FloatingPoint, AFiberBeginsWithTheEnvironmentInWhichItsGroupWasMade) {
    std::fesetround(FE_DOWNWARD);
    CarrierGroup group(oneCarrier());
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(group.spawn([] { return std::fegetround(); }).join(), FE_DOWNWARD);
}

unsigned overflowFlag() {
    return _mm_getcsr() & _MM_EXCEPT_OVERFLOW;
}

TEST(FloatingPoint, StatusFlagsAreThoseOfTheirFiber) {
    const auto overflow = [] {
        volatile double huge = std::numeric_limits<double>::max();
        huge = huge * 2;
    };
    overflow();  // not inherited either
    besideAFiberThat(
        [&] {
            EXPECT_EQ(overflowFlag(), 0u);
            overflow();
            thisFiber::yield();
            EXPECT_NE(overflowFlag(), 0u);
        },
        [] { EXPECT_EQ(overflowFlag(), 0u); });
}

TEST(FloatingPoint, TheModeForDenormalNumbersIsThatOfItsFiber) {
    besideAFiberThat([] { _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON); },
                     [] { EXPECT_EQ(_MM_GET_FLUSH_ZERO_MODE(), unsigned{_MM_FLUSH_ZERO_OFF}); });
}

fpu_control_t x87Control() {
    fpu_control_t control;
    _FPU_GETCW(control);
    return control;
}

TEST(FloatingPoint, TheX87PrecisionIsThatOfItsFiber) {
    const fpu_control_t before = x87Control();
    besideAFiberThat(
        [before] {
            fpu_control_t single = static_cast<fpu_control_t>(before & ~_FPU_EXTENDED);
            _FPU_SETCW(single);
        },
        [before] { EXPECT_EQ(x87Control(), before); });
}

#endif

// The switch itself saves only three registers; the compiler must save the others.
void expectTheValuesOfRegistersAfterSwitches(const CarrierOptions& options) {
    const auto count = [](double step) {
        return [step] {
            double a = step, b = 2 * step, c = 3 * step, d = 4 * step, e = 5 * step, f = 6 * step;
            std::uint64_t u = 1, v = 2, w = 3, x = 4, y = 5, z = 6;
            long double l = step;
            for (int i = 0; i < 100; ++i) {
                thisFiber::yield();
                a += step, b += a, c += b, d += c, e += d, f += e, l += f;
                u += 1, v += u, w += v, x += w, y += x, z += y;
            }
            return static_cast<double>(l) + a + b + c + d + e + f + static_cast<double>(u + v + w + x + y + z);
        };
    };
    CarrierGroup group(options);
    auto testFiber = group.spawn([&] {
        const double alone = spawn(count(0.5)).join();
        // Both are runnable before the first of them runs, so that each of their yields is a switch.
        auto first = spawn(count(0.5));
        auto other = spawn(count(-3));
        EXPECT_EQ(first.join(), alone);
        EXPECT_NE(other.join(), alone);
    });
    testFiber.join();
}

TEST(FloatingPoint, ValuesInRegistersSurviveASwitch) {
    for (const CarrierOptions& options : bothSwitches()) expectTheValuesOfRegistersAfterSwitches(options);
}

}  // namespace
}  // namespace weft
