// An exception whose last owner is another thread than the one that has read it. The thread sanitizer would report each
// case, but for tests/support/thread_sanitizer.supp: the counter of owners is in libstdc++.so, where it sees nothing.
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/scheduler/errors.hpp>

namespace weft::test {
namespace {

template <class Exception>
void readAndLeaveToAnotherThread(Exception thrown) {
    std::exception_ptr read = std::make_exception_ptr(std::move(thrown));
    std::atomic<bool> left{false};
    std::thread last([&left, own = read]() mutable {
        while (!left.load(std::memory_order_relaxed)) std::this_thread::yield();
        own = nullptr;
    });
    try {
        std::rethrow_exception(read);
    } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()), "");
    }
    read = nullptr;
    left.store(true, std::memory_order_relaxed);  // relaxed: orders nothing, as the sanitizer sees it
    last.join();
}

struct OwnError : std::exception {
    const char* what() const noexcept override { return text.c_str(); }
    std::string text = std::string(100, 'x');
};

TEST(SharedException, TheLastOwnerMayBeAnotherThread) {
    readAndLeaveToAnotherThread(std::runtime_error("on purpose"));
    readAndLeaveToAnotherThread(std::logic_error("on purpose"));
    readAndLeaveToAnotherThread(SystemError(operationAborted(), "on purpose"));
    readAndLeaveToAnotherThread(OwnError());
}

}  // namespace
}  // namespace weft::test
