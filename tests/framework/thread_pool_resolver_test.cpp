// Lookups by a few threads: how little an unresponsive name delays, what is cached, how waits end.
#include <weft/framework/thread_pool_resolver.hpp>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <netdb.h>
#include <pthread.h>
#include <signal.h>

#include "framework/bench.hpp"
#include "framework/lookup_error.hpp"
#include "support/threads.hpp"

namespace weft::test {
namespace {

using Addresses = Resolver::Addresses;

// A name service whose answers a test can hold back. Shared with lookups, which may outlive the resolver.
class NameService {
  public:
    Addresses lookUp(const std::string& host) {
        std::unique_lock held(lock_);
        asked_.push_back(host);
        changed_.notify_all();
        changed_.wait(held, [&] { return !held_.contains(host) && !holdsAll_; });
        if (host.starts_with("none")) throw SystemError(ErrorCode(EAI_NONAME, resolverCategory()));
        if (host.starts_with("again")) throw SystemError(ErrorCode(EAI_AGAIN, resolverCategory()));
        if (host.starts_with("memory")) throw std::bad_alloc();
        if (host.starts_with("odd")) throw 42;
        if (host.starts_with("empty")) return {};
        return {SocketAddress::loopbackV4(0), SocketAddress("::1", 0)};
    }
    void hold(const std::string& host) {
        std::lock_guard held(lock_);
        held_.insert(host);
    }
    void release(const std::string& host) {
        std::lock_guard held(lock_);
        held_.erase(host);
        changed_.notify_all();
    }
    void holdAll(bool on) {
        std::lock_guard held(lock_);
        holdsAll_ = on;
        changed_.notify_all();
    }
    std::vector<std::string> asked() {
        std::lock_guard held(lock_);
        return asked_;
    }
    std::size_t timesAsked() { return asked().size(); }
    void awaitAsked(std::size_t times) {
        std::unique_lock held(lock_);
        changed_.wait(held, [&] { return asked_.size() >= times; });
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::set<std::string> held_;
    bool holdsAll_ = false;
    std::vector<std::string> asked_;
};

class ThreadPoolResolverTest : public ::testing::Test {
  protected:
    ThreadPoolResolver::Lookup lookup() {
        return [names = names_](const std::string& host) { return names->lookUp(host); };
    }
    static ResolverOptions threads(unsigned count) {
        ResolverOptions options;
        options.threads = count;
        return options;
    }
    NameService& names() { return *names_; }

  private:
    const std::shared_ptr<NameService> names_ = std::make_shared<NameService>();
};

TEST_F(ThreadPoolResolverTest, ADeadNameDelaysNoOther) {
    ThreadPoolResolver resolver({}, lookup());
    names().hold("dead.test");
    std::vector<Future<Addresses>> dead;
    for (int i = 0; i < 100; ++i) dead.push_back(resolver.resolve("dead.test", 1));
    names().awaitAsked(1);
    for (int i = 0; i < 20; ++i) {
        const std::string host = "good" + std::to_string(i) + ".test";
        EXPECT_EQ(resolver.resolve(host, 80).get().front(), SocketAddress::loopbackV4(80));
    }
    EXPECT_FALSE(dead.front().done());
    names().release("dead.test");
    for (const auto& future : dead) EXPECT_EQ(future.get().size(), 2u);
    EXPECT_EQ(names().timesAsked(), 21u);
}

TEST_F(ThreadPoolResolverTest, AtTheLimitOfThreadsNamesAreLookedUpInTheOrderOfTheCalls) {
    ThreadPoolResolver resolver(threads(2), lookup());
    names().holdAll(true);
    std::vector<Future<Addresses>> all;
    for (const char* host : {"a", "b", "c", "d", "e"}) all.push_back(resolver.resolve(host, 1));
    names().awaitAsked(2);
    names().holdAll(false);
    for (const auto& future : all) future.get();
    EXPECT_EQ(names().timesAsked(), 5u);
    std::vector<std::string> asked = names().asked();
    std::sort(asked.begin(), asked.begin() + 2);
    EXPECT_EQ(asked[0] + asked[1], "ab");
}

TEST_F(ThreadPoolResolverTest, CallsForANameShareItsLookupWhateverItsCaseAndTheirPorts) {
    ThreadPoolResolver resolver({}, lookup());
    names().hold("shared.test");
    const auto first = resolver.resolve("shared.test", 1);
    const auto second = resolver.resolve("Shared.TEST", 2);
    names().release("shared.test");
    EXPECT_EQ(first.get().front(), SocketAddress::loopbackV4(1));
    EXPECT_EQ(second.get().front(), SocketAddress::loopbackV4(2));
    EXPECT_EQ(resolver.resolve("shared.test", 3).get().back(), SocketAddress("::1", 3));
    EXPECT_EQ(names().asked(), (std::vector<std::string>{"shared.test"}));
}

TEST_F(ThreadPoolResolverTest, AnAnswerIsUsedAgainUntilItIsForgotten) {
    ThreadPoolResolver resolver({}, lookup());
    resolver.resolve("a", 1).get();
    EXPECT_TRUE(resolver.resolve("a", 1).done()) << "no thread is asked";
    EXPECT_EQ(names().timesAsked(), 1u);
    resolver.clear();
    resolver.resolve("a", 1).get();
    EXPECT_EQ(names().timesAsked(), 2u);
    ResolverOptions options;
    options.positiveTime = 0s;
    ThreadPoolResolver forgetful(options, lookup());
    forgetful.resolve("a", 1).get();
    forgetful.resolve("a", 1).get();
    EXPECT_EQ(names().timesAsked(), 4u);
}

TEST_F(ThreadPoolResolverTest, NonexistentNamesAreCachedAndOtherFailuresAreNot) {
    ThreadPoolResolver resolver({}, lookup());
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(errorOf(resolver.resolve("none.test", 1)), ErrorCode(EAI_NONAME, resolverCategory()));
        EXPECT_EQ(errorOf(resolver.resolve("empty.test", 1)), ErrorCode(EAI_NODATA, resolverCategory()));
    }
    EXPECT_EQ(names().timesAsked(), 2u);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(errorOf(resolver.resolve("again.test", 1)), ErrorCode(EAI_AGAIN, resolverCategory()));
    }
    EXPECT_EQ(names().timesAsked(), 4u);
    ResolverOptions options;
    options.negativeTime = 0s;
    ThreadPoolResolver hopeful(options, lookup());
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(errorOf(hopeful.resolve("none.test", 1)).failed());
    EXPECT_EQ(names().timesAsked(), 6u);
}

TEST_F(ThreadPoolResolverTest, WhatALookupThrowsReachesTheCallersAndTheThreadGoesOn) {
    ThreadPoolResolver resolver(threads(1), lookup());
    EXPECT_THROW(resolver.resolve("memory.test", 1).get(), std::bad_alloc);
    EXPECT_THROW(resolver.resolve("odd.test", 1).get(), int);
    EXPECT_EQ(resolver.resolve("good.test", 1).get().size(), 2u);
}

std::set<std::string> threadNames() {
    std::set<std::string> names;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(thread.path() / "comm"), name);
        names.insert(name);
    }
    return names;
}

TEST_F(ThreadPoolResolverTest, ACallTimesOutAndTheAnswerIsStillCached) {
    ResolverOptions options = threads(1);
    options.timeout = 1ms;
    ThreadPoolResolver resolver(options, lookup());
    names().hold("dead.test");
    // A call that times out before its thread has started removes the name from the queue.
    while (names().timesAsked() == 0) resolver.resolve("dead.test", 1).await();
    const char* const timekeeper = "weft-resolver-t";  // has nothing to do now
    EXPECT_TRUE(eventually([&] { return !threadNames().contains(timekeeper) || threadSleeps(timekeeper); }));
    const auto running = resolver.resolve("dead.test", 1);
    const auto queued = resolver.resolve("queued.test", 1);  // its only thread is in the other lookup
    const auto again = resolver.resolve("dead.test", 1);
    for (const auto& future : {running, queued, again}) {
        EXPECT_EQ(errorOf(future), timedOut());
    }
    EXPECT_NE(describe(running.error()).find("cannot resolve 'dead.test'"), std::string::npos);
    names().release("dead.test");
    EXPECT_TRUE(eventually([&] { return resolver.resolve("dead.test", 1).done(); }));
    EXPECT_TRUE(eventually([&] { return resolver.resolve("good.test", 1).done(); }));
    const auto asked = names().asked();
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "dead.test"), 1);
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "queued.test"), 0) << "its call had timed out";
}

// Otherwise names without callers would fill the pool's queue.
TEST_F(ThreadPoolResolverTest, CallsThatTimedOutTakeNoRoomFromLaterOnes) {
    ResolverOptions options = threads(1);
    options.timeout = 1ms;
    options.maxWaiting = 2;
    ThreadPoolResolver resolver(options, lookup());
    names().hold("dead.test");
    while (names().timesAsked() == 0) resolver.resolve("dead.test", 1).await();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(errorOf(resolver.resolve("late" + std::to_string(i), 1)), timedOut());
    }
    names().release("dead.test");
    EXPECT_TRUE(eventually([&] { return !errorOf(resolver.resolve("good.test", 1)).failed(); }));
    for (const std::string& host : names().asked()) EXPECT_FALSE(host.starts_with("late")) << host;
}

TEST_F(ThreadPoolResolverTest, OneCallMoreThanMayWaitFailsAtOnce) {
    ResolverOptions options;
    options.maxWaiting = 2;
    ThreadPoolResolver resolver(options, lookup());
    names().holdAll(true);
    const auto first = resolver.resolve("a", 1);
    const auto second = resolver.resolve("a", 1);
    const auto third = resolver.resolve("b", 1);
    EXPECT_TRUE(third.done());
    EXPECT_EQ(errorOf(third), fromErrno(EAGAIN));
    names().holdAll(false);
    EXPECT_EQ(first.get().size(), 2u);
    EXPECT_EQ(second.get().size(), 2u);
}

TEST_F(ThreadPoolResolverTest, TheDestructorFailsPendingCallsWithoutWaitingForALookup) {
    Future<Addresses> running;
    Future<Addresses> queued;
    {
        ThreadPoolResolver resolver(threads(1), lookup());
        names().hold("dead.test");
        running = resolver.resolve("dead.test", 1);
        names().awaitAsked(1);
        queued = resolver.resolve("queued.test", 1);
    }
    EXPECT_EQ(errorOf(running), operationAborted());
    EXPECT_EQ(errorOf(queued), operationAborted());
    names().release("dead.test");
}

TEST_F(ThreadPoolResolverTest, AListenerMayAskAgain) {
    ThreadPoolResolver resolver(threads(1), lookup());
    Promise<std::size_t> inner;
    resolver.resolve("a", 1).addListener([&](const Future<Addresses>&) {
        resolver.resolve("b", 2).addListener(
            [&](const Future<Addresses>& second) { inner.setValue(second.get().size()); });
    });
    EXPECT_EQ(inner.future().get(), 2u);
}

TEST_F(ThreadPoolResolverTest, ManyThreadsMayAskAtOnce) {
    ThreadPoolResolver resolver(threads(3), lookup());
    std::atomic<int> answered{0};
    std::vector<std::thread> callers;
    for (int each = 0; each < 4; ++each) {
        callers.emplace_back([&, each] {
            for (int i = 0; i < 200; ++i) {
                const std::string host = "host" + std::to_string((i * 7 + each) % 50);
                answered += resolver.resolve(host, 1).get().size() == 2;
                if (i % 50 == 0) resolver.clear();
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(answered, 800);
}

TEST_F(ThreadPoolResolverTest, NumericHostsAreAnsweredAndWhatCanBeNoHostIsRefused) {
    using namespace std::string_literals;
    ThreadPoolResolver resolver({}, lookup());
    EXPECT_EQ(resolver.resolve("127.0.0.1", 9).get(), (Addresses{SocketAddress::loopbackV4(9)}));
    for (const std::string& host : {""s, "localhost\0.example.com"s, "127.1"s, "a b"s, "fe80::1%nowhere0"s}) {
        EXPECT_EQ(errorOf(resolver.resolve(host, 9)), fromErrno(EINVAL)) << host;
    }
    EXPECT_EQ(names().timesAsked(), 0u);
}

TEST_F(ThreadPoolResolverTest, NamesTheOptionThatIsOutOfRange) {
    const auto refusal = [&](auto change) -> std::string {
        ResolverOptions options;
        change(options);
        try {
            ThreadPoolResolver resolver(options, lookup());
            return "accepted";
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    };
    EXPECT_EQ(refusal([](ResolverOptions& o) { o.threads = 0; }),
              "ResolverOptions::threads is 0; 1 to 256 is accepted");
    EXPECT_EQ(refusal([](ResolverOptions& o) { o.threads = 257; }),
              "ResolverOptions::threads is 257; 1 to 256 is accepted");
    EXPECT_EQ(refusal([](ResolverOptions& o) { o.maxWaiting = 0; }),
              "ResolverOptions::maxWaiting is 0; 1 to 1000000 is accepted");
    EXPECT_NE(refusal([](ResolverOptions& o) { o.maxCached = 1'000'001; }), "accepted");
    EXPECT_EQ(refusal([](ResolverOptions& o) { o.timeout = -1ns; }),
              "ResolverOptions::timeout is -1 ns; 0 to 24 h is accepted");
    EXPECT_NE(refusal([](ResolverOptions& o) { o.positiveTime = Duration::max(); }), "accepted");
    EXPECT_NE(refusal([](ResolverOptions& o) { o.negativeTime = 25h; }), "accepted");
    EXPECT_THROW(ThreadPoolResolver({}, nullptr), std::invalid_argument);
}

TEST_F(ThreadPoolResolverTest, ItsThreadsHaveNamesAndExistOnlyWhileTheyAreNeeded) {
    ThreadPoolResolver resolver({}, lookup());
    names().hold("dead.test");
    const auto running = resolver.resolve("dead.test", 1);
    EXPECT_TRUE(eventually([] {
        const auto all = threadNames();
        return all.contains("weft-resolver") && all.contains("weft-resolver-t");
    }));
    names().release("dead.test");
    running.await();
    EXPECT_TRUE(eventually([] {
        const auto all = threadNames();
        return !all.contains("weft-resolver") && !all.contains("weft-resolver-t");
    }));
}

// Handlers run on the program's own threads; a signal that a thread causes itself is delivered to that thread.
TEST_F(ThreadPoolResolverTest, ItsThreadsBlockTheSignalsOfTheProcess) {
    sigset_t blocked;
    sigemptyset(&blocked);
    ThreadPoolResolver resolver({}, [&](const std::string&) {
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        return Addresses{SocketAddress::loopbackV4(0)};
    });
    resolver.resolve("a.test", 1).get();
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
}

}  // namespace
}  // namespace weft::test
