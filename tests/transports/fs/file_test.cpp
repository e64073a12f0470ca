// Each operation of a File, in a fiber and on a plain thread.
#include <weft/transports/fs/file.hpp>

#include <cerrno>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "transports/fs/temporary_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::fs {
namespace {

using test::TemporaryDirectory;
using testing::HasSubstr;

enum class Place { fiber, thread };

class FileTest : public testing::TestWithParam<Place> {
  protected:
    // Calls the test's body in the place of the parameter.
    static void run(const std::function<void()>& body) {
        if (GetParam() == Place::thread) return body();
        CarrierOptions options;
        options.carriers = 1;
        CarrierGroup group(options);
        group.spawn(body).join();
    }
    std::string path(const std::string& name = "file") const { return directory_.path(name); }
    std::string create(std::string_view bytes, const std::string& name = "file") const {
        File::open(path(name), OpenMode::truncate).write(bytes);
        return path(name);
    }
    static std::string contents(const std::string& path) { return File::open(path).readAll(1 << 26); }

  private:
    TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(, FileTest, testing::Values(Place::fiber, Place::thread),
                         [](const auto& each) { return each.param == Place::fiber ? "InAFiber" : "OnAThread"; });

std::string messageOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const SystemError& error) {
        return error.what();
    }
    return "no error";
}

TEST_P(FileTest, WhatIsWrittenIsReadFromThePositionToTheEnd) {
    run([&] {
        File file = File::open(path(), OpenMode::createNew);
        EXPECT_EQ(file.path(), path());
        file.write("hello ");
        file.write("world");
        file.seek(0);
        std::array<char, 4> four{};
        EXPECT_EQ(file.read(four), 4u);
        EXPECT_EQ(std::string(four.data(), 4), "hell");
        EXPECT_EQ(file.readAll(100), "o world");
        EXPECT_EQ(file.read(four), 0u) << "the end of the file";
        EXPECT_EQ(file.readAll(100), "");
        file.seek(9);
        EXPECT_EQ(file.read(four), 2u) << "what there is";
        EXPECT_EQ(file.read({}), 0u);
    });
}

TEST_P(FileTest, PositionalCallsDoNotMoveThePosition) {
    run([&] {
        File file = File::open(path(), OpenMode::create);
        file.writeAt(3, "def");
        file.writeAt(0, "abc");
        std::array<char, 10> all{};
        EXPECT_EQ(file.readAt(1, all), 5u) << "the file ends there";
        EXPECT_EQ(std::string(all.data(), 5), "bcdef");
        EXPECT_EQ(file.readAt(6, all), 0u);
        EXPECT_EQ(file.readAll(10), "abcdef");
        ErrorCode error;
        EXPECT_EQ(file.readAt(std::numeric_limits<std::uint64_t>::max(), all, error), 0u);
        EXPECT_EQ(error, fromErrno(EINVAL));
        EXPECT_EQ(file.writeAt(std::uint64_t{1} << 63, "x", error), 0u);
        EXPECT_EQ(error, fromErrno(EINVAL));
    });
}

TEST_P(FileTest, EachModeOpensWhatItSays) {
    run([&] {
        ErrorCode error;
        for (const OpenMode mode : {OpenMode::readOnly, OpenMode::writeOnly, OpenMode::readWrite}) {
            EXPECT_FALSE(File::open(path("none"), mode, error).isOpen());
            EXPECT_EQ(error, fromErrno(ENOENT));
        }
        create("old bytes");
        EXPECT_FALSE(File::open(path(), OpenMode::createNew, error).isOpen());
        EXPECT_EQ(error, fromErrno(EEXIST));
        File reader = File::open(path(), error);
        EXPECT_FALSE(error);
        EXPECT_EQ(reader.write("x", error), 0u);
        EXPECT_EQ(error, fromErrno(EBADF)) << "read-only";
        File::open(path(), OpenMode::create).write("new");
        EXPECT_EQ(contents(path()), "new bytes");
        File::open(path(), OpenMode::readWrite).write("NEW");
        EXPECT_EQ(contents(path()), "NEW bytes");
        File::open(path(), OpenMode::writeOnly).write("few");
        EXPECT_EQ(contents(path()), "few bytes");
        File appender = File::open(path(), OpenMode::append);
        appender.write(" and");
        appender.writeAt(0, " more");
        EXPECT_EQ(contents(path()), "few bytes and more");
        File::open(path(), OpenMode::truncate).write("x");
        EXPECT_EQ(contents(path()), "x");
        File::open(path("appended"), OpenMode::append).write("created");
        EXPECT_EQ(contents(path("appended")), "created");
    });
}

TEST_P(FileTest, StatReportsSizeTimeKindAndPermissions) {
    run([&] {
        const auto before = std::chrono::system_clock::now() - std::chrono::seconds(1);
        File file = File::open(path(), OpenMode::createNew, 0640);
        file.write("12345");
        file.sync();
        file.syncData();
        const FileInfo info = file.stat();
        EXPECT_EQ(info.kind, FileKind::regular);
        EXPECT_EQ(info.size, 5u);
        EXPECT_EQ(info.permissions & ~mode_t{0640}, 0u);
        EXPECT_EQ(info.permissions & 0600, mode_t{0600});
        EXPECT_GT(info.modified, before);
        file.setSize(2);
        EXPECT_EQ(file.stat().size, 2u);
        file.setSize(4);
        EXPECT_EQ(contents(path()), std::string("12\0\0", 4));
        EXPECT_EQ(File::open("/dev/null").stat().kind, FileKind::characterDevice);
        EXPECT_EQ(File::open(testing::TempDir()).stat().kind, FileKind::directory);
    });
}

TEST_P(FileTest, ATimeBeyondTheRangeOfTheClockIsClamped) {
    run([&] {
        const timespec year2400{13'569'465'600, 999'999'999};
        const std::array<timespec, 2> times{year2400, year2400};
        create("x");
        ASSERT_EQ(::utimensat(AT_FDCWD, path().c_str(), times.data(), 0), 0);
        struct ::stat stored {};
        ASSERT_EQ(::stat(path().c_str(), &stored), 0);
        if (stored.st_mtim.tv_sec != year2400.tv_sec) GTEST_SKIP() << "the file system cannot hold the year 2400";
        EXPECT_EQ(File::open(path()).stat().modified, std::chrono::system_clock::time_point::max());
    });
}

TEST_P(FileTest, ALargeFileComesBackAsItWas) {
    run([&] {
        std::string large(7'000'001, '\0');
        for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 13);
        create(large);
        File file = File::open(path());
        EXPECT_EQ(file.stat().size, large.size());
        EXPECT_TRUE(file.readAll(large.size()) == large);
        std::string part(3'000'000, ' ');
        EXPECT_EQ(file.readAt(5'000'000, part), 2'000'001u);
        EXPECT_TRUE(std::string_view(part).substr(0, 2'000'001) == std::string_view(large).substr(5'000'000));
    });
}

TEST_P(FileTest, ReadAllRefusesMoreThanItsLimit) {
    run([&] {
        create("12345");
        EXPECT_EQ(File::open(path()).readAll(5), "12345");
        ErrorCode error;
        EXPECT_EQ(File::open(path()).readAll(4, error), "");
        EXPECT_EQ(error, fromErrno(EFBIG));
        EXPECT_EQ(File::open("/dev/zero").readAll(100'000, error), "") << "its size is 0";
        EXPECT_EQ(error, fromErrno(EFBIG));
        EXPECT_EQ(File::open("/dev/null").readAll(0), "");
        EXPECT_NE(File::open("/proc/self/status").readAll(1 << 20), "");
        EXPECT_EQ(File::open(path()).readAll(std::numeric_limits<std::size_t>::max()), "12345");
    });
}

TEST_P(FileTest, AnErrorNamesTheCallThePathAndTheReason) {
    run([&] {
        const std::string missing = messageOf([&] { File::open(path("none")); });
        EXPECT_THAT(missing, HasSubstr("File::open '" + path("none") + "'"));
        EXPECT_THAT(missing, HasSubstr("No such file or directory"));
        EXPECT_THAT(messageOf([&] { File::open(std::string("a\0b", 3)); }), HasSubstr("Invalid argument"));
        File directory = File::open(testing::TempDir());
        std::array<char, 1> one{};
        EXPECT_THAT(messageOf([&] { directory.read(one); }), HasSubstr("Is a directory"));
        EXPECT_THAT(messageOf([&] { File::open(testing::TempDir(), OpenMode::readWrite); }),
                    HasSubstr("Is a directory"));
        File full = File::open("/dev/full", OpenMode::readWrite);
        EXPECT_THAT(messageOf([&] { full.write("x"); }), HasSubstr("File::write '/dev/full': No space left on device"));
        EXPECT_THAT(messageOf([&] { full.setSize(std::numeric_limits<std::uint64_t>::max()); }),
                    HasSubstr("File::setSize '/dev/full': Invalid argument"));
    });
}

TEST_P(FileTest, AClosedFileFailsWithEBADFAndASecondCloseDoesNothing) {
    run([&] {
        File file = File::open(create("x"));
        const auto expectClosed = [&](File& closed) {
            EXPECT_FALSE(closed.isOpen());
            ErrorCode error;
            std::array<char, 1> one{};
            EXPECT_EQ(closed.read(one, error), 0u);
            EXPECT_EQ(error, fromErrno(EBADF));
            closed.sync(error);
            EXPECT_EQ(error, fromErrno(EBADF));
            EXPECT_EQ(closed.readAt(0, {}, error), 0u);
            EXPECT_EQ(error, fromErrno(EBADF)) << "also without a byte";
            EXPECT_EQ(closed.write("", error), 0u);
            EXPECT_EQ(error, fromErrno(EBADF));
            EXPECT_EQ(closed.writeAt(0, "", error), 0u);
            EXPECT_EQ(error, fromErrno(EBADF));
            EXPECT_EQ(closed.stat(error).size, 0u);
            EXPECT_EQ(error, fromErrno(EBADF));
            EXPECT_EQ(closed.readAll(1, error), "");
            EXPECT_EQ(error, fromErrno(EBADF));
            closed.close(error);
            EXPECT_FALSE(error);
            closed.close();
        };
        file.close();
        expectClosed(file);
        EXPECT_EQ(file.path(), path());
        File first = File::open(path());
        File second = std::move(first);
        expectClosed(first);
        EXPECT_EQ(second.readAll(1), "x");
        File& same = second;
        second = std::move(same);
        EXPECT_TRUE(second.isOpen());
        second = File::open(path());
        EXPECT_EQ(second.readAll(1), "x");
        second = File();
        expectClosed(second);
    });
}

TEST_P(FileTest, TheDescriptorIsNotInheritedByPrograms) {
    run([&] {
        // The lowest free descriptor is the one that open() takes.
        const int expected = ::dup(STDERR_FILENO);
        ::close(expected);
        File file = File::open(create("x"));
        if (GetParam() == Place::thread) {
            EXPECT_EQ(::fcntl(expected, F_GETFD), FD_CLOEXEC);
        }
    });
}

// A FIFO delivers what is there: a short read.
TEST_P(FileTest, AShortReadReturnsWhatThereIs) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    run([&] {
        File both = File::open(path(), OpenMode::readWrite);  // does not wait for another process
        EXPECT_EQ(both.stat().kind, FileKind::fifo);
        both.write("abc");
        std::array<char, 10> ten{};
        EXPECT_EQ(both.read(ten), 3u);
        ErrorCode error;
        both.seek(0, error);
        EXPECT_EQ(error, fromErrno(ESPIPE));
    });
}

TEST(FileInAHandler, WhereNothingMayBlockItIsAnErrorAndTheFileStaysOpen) {
    const TemporaryDirectory directory;
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    group
        .spawn([&] {
            File file = File::open(directory.path("file"), OpenMode::create);
            const NonSuspendingScope scope;
            ErrorCode error;
            EXPECT_THROW(file.write("x", error), BlockingOperationException);
            EXPECT_THROW(file.close(error), BlockingOperationException);
            EXPECT_TRUE(file.isOpen());
            // The destructor does not wait, so it may run here.
        })
        .join();
}

}  // namespace
}  // namespace weft::fs
