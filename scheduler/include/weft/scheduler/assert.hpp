// Assertions for program bugs. They are on in every build: the conditions are cheap, and a scheduler with a broken
// invariant must not continue. WEFT_DEBUG_ASSERT is off with NDEBUG.
#pragma once

namespace weft::detail {

[[noreturn]] void assertionFailed(const char* condition, const char* message, const char* file, int line) noexcept;
[[noreturn]] void comparisonFailed(const char* condition, long long left, long long right, const char* file,
                                   int line) noexcept;

}  // namespace weft::detail

#define WEFT_ASSERT(condition, message)                \
    (__builtin_expect(static_cast<bool>(condition), 1) \
         ? static_cast<void>(0)                        \
         : ::weft::detail::assertionFailed(#condition, message, __FILE__, __LINE__))

// Prints both values when they differ.
#define WEFT_ASSERT_EQ(left, right)                                                            \
    (__builtin_expect((left) == (right), 1)                                                    \
         ? static_cast<void>(0)                                                                \
         : ::weft::detail::comparisonFailed(#left " == " #right, static_cast<long long>(left), \
                                            static_cast<long long>(right), __FILE__, __LINE__))

#ifdef NDEBUG
#define WEFT_DEBUG_ASSERT(condition, message) static_cast<void>(0)
#else
#define WEFT_DEBUG_ASSERT(condition, message) WEFT_ASSERT(condition, message)
#endif
