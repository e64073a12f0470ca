#include <weft/scheduler/unique_function.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace weft {
namespace {

template <std::size_t alignment>
struct Aligned {
    alignas(alignment) std::array<char, alignment> bytes{};
    bool operator()() const {
        const volatile auto at = reinterpret_cast<std::uintptr_t>(this);  // volatile: or the compiler knows the answer
        return at % alignment == 0;
    }
};

bool liesInside(const void* part, const void* whole, std::size_t size) {
    const auto at = reinterpret_cast<std::uintptr_t>(part);
    const auto begin = reinterpret_cast<std::uintptr_t>(whole);
    return at >= begin && at < begin + size;
}

TEST(UniqueFunction, ACallableIsAlignedAsItsTypeDemandsAlsoAfterMoves) {
    // An array of functions: not every one of them starts at a multiple of 16 bytes.
    std::array<UniqueFunction<bool()>, 8> functions;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        functions[i] = Aligned<16>();
        EXPECT_TRUE(functions[i]());
        functions[i] = Aligned<64>();
        EXPECT_TRUE(functions[i]());
        UniqueFunction<bool()> moved = std::move(functions[i]);
        EXPECT_TRUE(moved());
    }
}

TEST(UniqueFunction, ACallableOfFortyEightBytesLiesInside) {
    struct Fits {
        std::array<void*, 6> words{};
        const void* operator()() const { return this; }
    };
    UniqueFunction<const void*()> function = Fits();
    EXPECT_TRUE(liesInside(function(), &function, sizeof function));
    struct TooLarge : Fits {
        char more = 0;
    };
    UniqueFunction<const void*()> allocated = TooLarge();
    EXPECT_FALSE(liesInside(allocated(), &allocated, sizeof allocated));
}

TEST(UniqueFunction, ACallableIsDestroyedOnceWhereverItHasMoved) {
    const auto shared = std::make_shared<int>(1);
    {
        UniqueFunction<int()> first = [shared] { return *shared; };
        UniqueFunction<int()> second = std::move(first);
        EXPECT_FALSE(first);
        EXPECT_EQ(second(), 1);
        EXPECT_EQ(shared.use_count(), 2);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace weft
