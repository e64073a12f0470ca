// Linked into every test program: guards each of its tests, whatever its fixture.
#include <weft/testing/leak_guard.hpp>

namespace weft::test {
namespace {

[[maybe_unused]] const bool guarded = LeakGuard::guardEveryTest();

}  // namespace
}  // namespace weft::test
