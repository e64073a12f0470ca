// Linked into every test program: each of its tests is guarded, whatever its fixture.
#include <weft/testing/leak_guard.hpp>

namespace weft::test {
namespace {

[[maybe_unused]] const bool guarded = LeakGuard::guardEveryTest();

}  // namespace
}  // namespace weft::test
