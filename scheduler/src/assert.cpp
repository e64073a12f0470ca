#include <weft/scheduler/assert.hpp>

#include <cstdio>
#include <cstdlib>

namespace weft::detail {

void assertionFailed(const char* condition, const char* message, const char* file, int line) noexcept {
    std::fprintf(stderr, "weft: assertion failed: %s (%s) at %s:%d\n", message, condition, file, line);
    std::abort();
}

void comparisonFailed(const char* condition, long long left, long long right, const char* file, int line) noexcept {
    std::fprintf(stderr, "weft: assertion failed: %s (%lld and %lld) at %s:%d\n", condition, left, right, file, line);
    std::abort();
}

}  // namespace weft::detail
