// Linked into every test program that uses the scheduler: each test must return all scheduler resources by its end.
#include <weft/scheduler/detail/outstanding.hpp>

#include <weft/testing/leak_guard.hpp>

namespace weft::test {
namespace {

bool watchTheScheduler() {
    using detail::outstanding;
    LeakGuard::watch("stacks of fibers", [] { return outstanding.stacks.load(); });
    LeakGuard::watch("fibers that never ended", [] { return outstanding.fibers.load(); });
    LeakGuard::watch("timers that outlived their wheel", [] { return outstanding.timers.load(); });
    return true;
}

[[maybe_unused]] const bool watched = watchTheScheduler();

}  // namespace
}  // namespace weft::test
