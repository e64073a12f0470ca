// LeakGuard fails a test that leaves something behind. It compares the open file descriptors, the threads and the
// watched counters of the program before and after the test, and describes each difference.
//
//   one suite:     class AcceptorTest : public weft::test::LeakGuard { ... };
//   all tests:     const bool guarded = weft::test::LeakGuard::guardEveryTest();     at namespace scope of a test file
//   own counters:  weft::test::LeakGuard::watch("buffers", [] { return liveBuffers(); });
//
// Weft's own test programs guard every test and watch the counters of the rooms that they link (leak_guard_*.cpp). What
// a process creates once and keeps (a logger, say) must exist before the first guarded test, or keeps() must excuse it.
// Linux only. Used by the thread that runs the tests; knows nothing of Weft's rooms.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <dirent.h>
#include <limits.h>
#include <unistd.h>

namespace weft::test {

class LeakGuard : public ::testing::Test {
  public:
    // From now on, each test must leave this counter as it found it. Call before the first test or between tests.
    static void watch(std::string name, std::function<std::int64_t()> counter) {
        counters()[std::move(name)] = std::move(counter);
    }
    static void unwatch(const std::string& name) { counters().erase(name); }

    // Guards every test of the program, whatever its fixture. Returns true, to initialise a constant.
    static bool guardEveryTest() {
        static const bool once = (::testing::UnitTest::GetInstance()->listeners().Append(new Listener), true);
        return once;
    }

    // Excuses the running test, which creates something that lives as long as the process: no comparison at its end.
    static void keeps() noexcept { excused() = true; }

  protected:
    // Not in SetUp and TearDown: the members of a derived fixture are constructed after this base and destroyed before
    // it.
    LeakGuard() = default;
    ~LeakGuard() override { expectSameAs(before_); }

  private:
    using Descriptions = std::map<int, std::string>;  // key: the file descriptor or the thread id

    struct Census {
        Descriptions fds;
        Descriptions threads;
        std::map<std::string, std::int64_t> counts;
    };

    class Listener final : public ::testing::EmptyTestEventListener {
        void OnTestStart(const ::testing::TestInfo&) override {
            excused() = false;
            before_ = baseline();
        }
        void OnTestEnd(const ::testing::TestInfo&) override {
            if (!excused()) expectSameAs(before_);
        }
        Census before_;
    };

    static std::map<std::string, std::function<std::int64_t()>>& counters() {
        static std::map<std::string, std::function<std::int64_t()>> all;
        return all;
    }
    static bool& excused() noexcept {
        static bool flag = false;
        return flag;
    }

    static Census baseline() {
        // A sanitizer starts its own thread along with the program's first one; create that thread now. It may stay in
        // /proc for a moment after join() returns.
        static const bool warm = [] {
            pid_t id = 0;
            std::thread([&id] { id = ::gettid(); }).join();
            while (::access(("/proc/self/task/" + std::to_string(id)).c_str(), F_OK) == 0) std::this_thread::yield();
            return true;
        }();
        static_cast<void>(warm);
        return census();
    }

    static Census census() {
        Census now{list("/proc/self/fd", describeFd), list("/proc/self/task", describeThread), {}};
        for (const auto& [name, counter] : counters()) now.counts.emplace(name, counter());
        return now;
    }

    static void expectSameAs(const Census& before) {
        // A joined thread may stay in /proc for a moment after join() returns, and no event tells when it is gone. So
        // check repeatedly, up to a limit, and yield the CPU in between.
        constexpr int kLooks = 2000;
        std::string text = difference(before, census());
        for (int look = 1; look < kLooks && !text.empty(); ++look) {
            std::this_thread::yield();
            text = difference(before, census());
        }
        if (!text.empty()) ADD_FAILURE() << "the test did not leave the process as it found it:\n" << text;
    }

    static std::string difference(const Census& before, const Census& after) {
        // A missing descriptor was closed by code that did not own it. A missing thread is no fault: it was joined
        // before this test and was still in /proc when the test began.
        std::string text;
        for (const auto& [fd, target] : after.fds) {
            if (!has(before.fds, fd, target)) text += "left open: fd " + std::to_string(fd) + ", " + target + "\n";
        }
        for (const auto& [fd, target] : before.fds) {
            if (!has(after.fds, fd, target)) text += "closed: fd " + std::to_string(fd) + ", " + target + "\n";
        }
        for (const auto& [id, name] : after.threads) {  // by id: a test may rename the thread that it runs on
            if (!before.threads.contains(id))
                text += "still running: thread " + std::to_string(id) + ", " + name + "\n";
        }
        for (const auto& [name, count] : after.counts) {
            const auto was = before.counts.find(name);  // absent if watched since the test began
            if (was == before.counts.end() || was->second == count) continue;
            text += name + ": " + std::to_string(was->second) + " before, " + std::to_string(count) + " after\n";
        }
        return text;
    }

    static bool has(const Descriptions& all, int id, const std::string& description) {
        const auto found = all.find(id);
        return found != all.end() && found->second == description;
    }

    static Descriptions list(const char* path, std::string (*describe)(const std::string&)) {
        Descriptions found;
        DIR* directory = ::opendir(path);
        if (directory == nullptr) {
            ADD_FAILURE() << "LeakGuard cannot read " << path;
            return found;
        }
        const std::string own = std::to_string(::dirfd(directory));  // open only during this scan
        while (const dirent* entry = ::readdir(directory)) {
            const std::string name = entry->d_name;
            if (name.front() == '.' || (describe == describeFd && name == own)) continue;
            found.emplace(std::stoi(name), describe(name));
        }
        ::closedir(directory);
        return found;
    }

    static std::string describeFd(const std::string& fd) {
        char target[PATH_MAX];
        const auto length = ::readlink(("/proc/self/fd/" + fd).c_str(), target, sizeof target);
        return length < 0 ? "gone" : std::string(target, static_cast<std::size_t>(length));
    }

    static std::string describeThread(const std::string& thread) {
        std::string name;
        std::getline(std::ifstream("/proc/self/task/" + thread + "/comm"), name);
        return name;
    }

    Census before_ = baseline();
};

}  // namespace weft::test
