// Fibers in calls of a File: many at once, cancelled, at a shutdown; and the limits of the process.
#include <weft/transports/fs/file.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/fs/whole_files.hpp>

#include "support/forked_process.hpp"
#include "transports/fs/temporary_directory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::fs {
namespace {

using test::resultOfFork;
using test::TemporaryDirectory;

CarrierOptions filesOn(unsigned carriers, std::size_t threads = 512) {
    CarrierOptions options;
    options.carriers = carriers;
    options.blockingThreads = threads;
    return options;
}

// A FIFO whose reader waits until a test writes to it.
class SlowFile {
  public:
    SlowFile() : path_(directory_.path("fifo")) {
        if (::mkfifo(path_.c_str(), 0600) != 0) std::abort();
        file_ = File::open(path_, OpenMode::readWrite);
    }
    File& file() { return file_; }
    void write(std::string_view bytes) { file_.write(bytes); }

  private:
    TemporaryDirectory directory_;
    std::string path_;
    File file_;
};

// Waits until a thread of the group's pool is in the only call.
void awaitBegun(CarrierGroup& group) {
    const BlockingPool& pool = group.blockingPool();
    while (pool.threads() == 0 || pool.idle() != 0 || pool.queued() != 0) std::this_thread::yield();
}

TEST(FileWaits, OtherFibersOfTheCarrierRunMeanwhile) {
    SlowFile slow;
    CarrierGroup group(filesOn(1));
    auto reading = group.spawn([&] {
        std::array<char, 10> ten{};
        return slow.file().read(ten);
    });
    EXPECT_EQ(group.spawn([] { return 2; }).join(), 2);
    EXPECT_FALSE(reading.done());
    slow.write("abc");
    EXPECT_EQ(reading.join(), 3u);
}

TEST(FileWaits, AThousandFibersReadOneFileAtATime) {
    const TemporaryDirectory directory;
    std::string numbers;
    for (int i = 0; i < 1000; ++i) numbers += std::to_string(1'000'000 + i);
    File::open(directory.path("numbers"), OpenMode::createNew).write(numbers);
    CarrierGroup group(filesOn(2, 16));
    File file = File::open(directory.path("numbers"));
    std::vector<JoinHandle<std::string>> fibers;
    for (std::size_t i = 0; i < 1000; ++i) {
        fibers.push_back(group.carrier(i % 2).spawn([&file, i] {
            std::string number(7, ' ');
            EXPECT_EQ(file.readAt(i * 7, number), 7u);
            return number;
        }));
    }
    for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(fibers[i].join(), std::to_string(1'000'000 + i));
}

TEST(FileWaits, EachOfManyFibersHasAFileOfItsOwn) {
    const TemporaryDirectory directory;
    {
        CarrierGroup group(filesOn(2, 16));
        std::vector<JoinHandle<void>> fibers;
        for (int i = 0; i < 200; ++i) {
            fibers.push_back(group.carrier(static_cast<std::size_t>(i % 2)).spawn([&directory, i] {
                const std::string path = directory.path(std::to_string(i));
                File file = File::open(path, OpenMode::createNew);
                file.write(path);
                if (i % 2 == 0) file.close();
                EXPECT_EQ(File::open(path).readAll(1000), path);
            }));
        }
        for (auto& fiber : fibers) fiber.join();
    }
    EXPECT_EQ(directory.entries(), 200u);
}

TEST(FileWaits, ACancelledReadEndsWithItsThreadAndTheNextWaitReportsTheCancellation) {
    SlowFile slow;
    CarrierGroup group(filesOn(1));
    auto reading = group.spawn([&] {
        std::array<char, 10> ten{};
        ErrorCode error;
        EXPECT_EQ(slow.file().read(ten, error), 3u);
        EXPECT_FALSE(error);
        EXPECT_THROW(thisFiber::sleepFor(std::chrono::hours(1)), SystemError);
    });
    awaitBegun(group);
    reading.cancel();
    EXPECT_EQ(group.spawn([] { return 1; }).join(), 1);
    EXPECT_FALSE(reading.done()) << "a thread uses the fiber's bytes";
    slow.write("abc");
    reading.join();
}

TEST(FileWaits, AShutdownWaitsForTheReadThatRuns) {
    SlowFile slow;
    std::optional<std::size_t> read;
    std::thread writer;
    {
        CarrierGroup group(filesOn(1));
        group
            .spawn([&] {
                std::array<char, 10> ten{};
                read = slow.file().read(ten);
            })
            .detach();
        awaitBegun(group);
        EXPECT_FALSE(group.shutdown(Duration::zero()));
        slow.write("abc");
    }
    EXPECT_EQ(read, 3u);
}

// The only thread of the pool is in another call, so no thread begins those of the cancelled fiber.
TEST(FileWaits, ACancelledCallThatHasNotBegunDoesNothingButACloseStillCloses) {
    const TemporaryDirectory directory;
    SlowFile slow;
    const int before = ::dup(STDERR_FILENO);
    ::close(before);
    {
        CarrierGroup group(filesOn(1, 1));
        std::optional<File> file = File::open(directory.path("file"), OpenMode::createNew);
        auto reading = group.spawn([&] {
            std::array<char, 1> byte{};
            return slow.file().read(byte);
        });
        awaitBegun(group);
        auto cancelled = group.spawn([&] {
            ErrorCode error;
            EXPECT_EQ(file->write("never", error), 0u);
            EXPECT_EQ(error, operationAborted());
            file->close(error);
            EXPECT_EQ(error, operationAborted());
            EXPECT_FALSE(file->isOpen());
        });
        while (group.blockingPool().queued() == 0) std::this_thread::yield();
        cancelled.cancel();
        cancelled.join();
        EXPECT_EQ(group.blockingPool().queued(), 1u) << "the close";
        slow.write("x");
        EXPECT_EQ(reading.join(), 1u);
    }
    const int after = ::dup(STDERR_FILENO);
    ::close(after);
    EXPECT_EQ(after, before) << "closed before the group had ended";
    EXPECT_EQ(File::open(directory.path("file")).stat().size, 0u);
}

TEST(FileWaits, TheDestructorDoesNotWaitForTheClose) {
    const TemporaryDirectory directory;
    SlowFile slow;
    CarrierGroup group(filesOn(1, 1));
    auto reading = group.spawn([&] {
        std::array<char, 1> byte{};
        return slow.file().read(byte);
    });
    awaitBegun(group);
    File file = File::open(directory.path("file"), OpenMode::createNew);
    group.spawn([&] { const File destroyed = std::move(file); }).join();
    EXPECT_FALSE(reading.done());
    EXPECT_EQ(group.blockingPool().queued(), 1u);
    slow.write("x");
    EXPECT_EQ(reading.join(), 1u);
}

std::atomic<bool> interrupted{false};

TEST(FileWaits, ASignalDoesNotEndACall) {
    SlowFile slow;
    struct sigaction former {};
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };  // without SA_RESTART: system calls fail with EINTR
    ::sigaction(SIGUSR1, &action, &former);
    interrupted = false;
    std::atomic<bool> begun{false};
    std::size_t count = 0;
    std::thread reader([&] {
        std::array<char, 10> ten{};
        begun = true;
        count = slow.file().read(ten);
    });
    while (!begun) std::this_thread::yield();
    // The first one may come before the call. The thread sanitizer runs a handler only after a system call.
    for (int sent = 0; sent < 100 || !interrupted; ++sent) {
        ::pthread_kill(reader.native_handle(), SIGUSR1);
        std::this_thread::yield();
    }
    slow.write("abc");
    reader.join();
    EXPECT_EQ(count, 3u);
    ::sigaction(SIGUSR1, &former, nullptr);
}

void setLimit(int resource, rlim_t limit) {
    const struct rlimit value { limit, limit };
    if (::setrlimit(static_cast<__rlimit_resource>(resource), &value) != 0) ::_exit(99);
}

// The kernel first takes the bytes below the limit: a partial write.
TEST(FileLimits, AWriteBeyondTheLargestFileReportsWhatWasWritten) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    EXPECT_EQ(resultOfFork([&] {
                  std::signal(SIGXFSZ, SIG_IGN);
                  setLimit(RLIMIT_FSIZE, 1000);
                  ErrorCode error;
                  File file = File::open(path, OpenMode::createNew);
                  if (file.write(std::string(1500, 'x'), error) != 1000 || error != fromErrno(EFBIG)) return 1;
                  if (file.writeAt(900, std::string(500, 'y'), error) != 100 || error != fromErrno(EFBIG)) return 2;
                  file.setSize(2000, error);
                  return error == fromErrno(EFBIG) ? 0 : 3;
              }),
              0);
    EXPECT_EQ(File::open(path).readAll(2000), std::string(900, 'x') + std::string(100, 'y'));
}

TEST(FileLimits, WithoutADescriptorOpenFailsAndCreatesNothing) {
    const TemporaryDirectory directory;
    EXPECT_EQ(resultOfFork([&] {
                  setLimit(RLIMIT_NOFILE, 0);
                  ErrorCode error;
                  const File file = File::open(directory.path("file"), OpenMode::createNew, error);
                  return !file.isOpen() && error == fromErrno(EMFILE) ? 0 : 1;
              }),
              0);
    EXPECT_EQ(directory.entries(), 0u);
}

TEST(FileLimits, AnErrorOfAFullPoolNamesTheOptionThatRaisesTheLimit) {
    std::atomic<bool> begun{false};
    std::atomic<bool> released{false};
    CarrierGroup group(filesOn(1, 1));
    BlockingPool& pool = group.blockingPool();
    pool.post([&] {
        begun = true;
        while (!released) std::this_thread::yield();
    });
    while (!begun) std::this_thread::yield();
    const auto fill = [&] {
        for (;;) pool.post([] {});
    };
    EXPECT_THROW(fill(), SystemError);
    const auto messageOf = [](auto call) -> std::string {
        try {
            call();
        } catch (const SystemError& error) {
            return error.code() == fromErrno(EAGAIN) ? error.what() : "another error";
        }
        return "no error";
    };
    group
        .spawn([&] {
            for (const std::string& text : {messageOf([] { File::open("/dev/null"); }),
                                            messageOf([] { static_cast<void>(readFile("/dev/null", 1)); })}) {
                EXPECT_NE(text.find(" '/dev/null': the blocking pool is full"), std::string::npos) << text;
                EXPECT_NE(text.find("CarrierOptions::blockingThreads"), std::string::npos) << text;
            }
        })
        .join();
    released = true;
}

TEST(FileLimits, AFileOfAForkedProcessIsUsedDirectly) {
    const TemporaryDirectory directory;
    CarrierGroup group(filesOn(1));
    group
        .spawn([&] {
            EXPECT_EQ(resultOfFork([&] {
                          File::open(directory.path("file"), OpenMode::createNew).write("from the child");
                          return 0;
                      }),
                      0);
        })
        .join();
    EXPECT_EQ(File::open(directory.path("file")).readAll(100), "from the child");
}

}  // namespace
}  // namespace weft::fs
