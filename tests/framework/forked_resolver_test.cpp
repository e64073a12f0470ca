// Resolvers in a forked process, which inherits them without their threads, and a lookup that is stuck when a process
// ends.
#include <weft/framework/thread_pool_resolver.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "framework/bench.hpp"
#include "framework/lookup_error.hpp"
#include "support/forked_process.hpp"
#include "support/sanitized.hpp"

namespace weft::test {
namespace {

using Addresses = Resolver::Addresses;

// A lookup of a name that begins with "stuck" takes until stop().
class StuckLookup {
  public:
    ThreadPoolResolver::Lookup lookup() {
        return [shared = shared_](const std::string& host) {
            if (host.starts_with("stuck")) {
                shared->begun = true;
                while (!shared->stopped) std::this_thread::yield();
            }
            return Addresses{SocketAddress::loopbackV4(0)};
        };
    }
    void awaitBegun() const {
        while (!shared_->begun) std::this_thread::yield();
    }
    void stop() const { shared_->stopped = true; }
    // How many functions that lookup() returned exist, counting copies.
    long count() const { return shared_.use_count() - 1; }

  private:
    struct Shared {
        std::atomic<bool> begun{false};
        std::atomic<bool> stopped{false};
    };
    const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// A forked process may inherit the address sanitizer's allocator locked, and the thread sanitizer ends one that starts
// threads.
#ifndef WEFT_SANITIZED
// One thread is in a lookup, and the timekeeper waits on its condition variable or will soon.
TEST(ForkedResolver, ItRefusesNamesAndIsDestroyedWithoutAWait) {
    StuckLookup names;
    auto resolver = std::make_unique<ThreadPoolResolver>(ResolverOptions{.threads = 1}, names.lookup());
    const auto running = resolver->resolve("stuck.test", 1);
    names.awaitBegun();
    const auto queued = resolver->resolve("queued.test", 1);
    EXPECT_EQ(resultOfFork([&] {
                  if (!resolver->forked()) return 1;
                  const auto refused = resolver->resolve("a.test", 1);
                  if (!refused.done() || errorOf(refused) != fromErrno(ENOTSUP)) return 2;
                  if (describe(refused.error()).find("cannot resolve 'a.test'") == std::string::npos) return 3;
                  if (resolver->resolve("127.0.0.1", 9).get().size() != 1) return 4;
                  resolver->clear();
                  resolver.reset();
                  return names.count() == 1 ? 0 : 5;  // the parent's threads use the resolver's state
              }),
              0);
    EXPECT_FALSE(resolver->forked());
    names.stop();
    EXPECT_EQ(running.get().size(), 1u);
    EXPECT_EQ(queued.get().size(), 1u);
}

TEST(ForkedResolver, OneCreatedInTheForkedProcessResolves) {
    StuckLookup names;
    ThreadPoolResolver inherited({}, names.lookup());
    const auto running = inherited.resolve("stuck.test", 1);
    names.awaitBegun();
    EXPECT_EQ(resultOfFork([&] {
                  ThreadPoolResolver own({}, names.lookup());
                  return own.forked() || own.resolve("a.test", 1).get().size() != 1 ? 1 : 0;
              }),
              0);
    names.stop();
    EXPECT_EQ(running.get().size(), 1u);
}

// No label of a name may be this long, so the system refuses it without a query.
const std::string impossible(70, 'x');

bool asksTheSystem(Resolver& resolver) {
    return errorOf(resolver.resolve(impossible, 1)).category() == resolverCategory();
}

// A thread that has called getaddrinfo() takes a lock of the C library as it ends; a forked process would inherit it
// locked.
void awaitEndOfLookupThreads() {
    const auto one = [] {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            std::string name;
            std::getline(std::ifstream(task.path() / "comm"), name);  // none: it has ended
            if (name == "weft-resolver") return true;
        }
        return false;
    };
    while (one()) std::this_thread::yield();
}

TEST(ForkedResolver, TheSystemsResolverOfAForkedProcessIsItsOwnAndResolves) {
    Resolver& here = Resolver::system();
    EXPECT_TRUE(asksTheSystem(here));
    awaitEndOfLookupThreads();
    EXPECT_EQ(resultOfFork([&] {
                  if (asksTheSystem(here)) return 1;
                  Resolver& own = Resolver::system();
                  if (&own == &here || &own != &Resolver::system()) return 2;
                  if (!asksTheSystem(own)) return 3;
                  awaitEndOfLookupThreads();
                  return resultOfFork([] { return asksTheSystem(Resolver::system()) ? 0 : 4; });
              }),
              0);
    EXPECT_EQ(&Resolver::system(), &here);
}
#endif

TEST(StuckLookupDeathTest, ItDoesNotHoldUpTheEndOfTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            static StuckLookup names;
            static ThreadPoolResolver resolver({}, names.lookup());
            static const auto running = resolver.resolve("stuck.test", 1);
            names.awaitBegun();
            std::exit(6);
        },
        testing::ExitedWithCode(6), "");
}

}  // namespace
}  // namespace weft::test
