// NewFile: a file that appears only when it is complete.
#include <weft/transports/fs/new_file.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/fs/file.hpp>
#include <weft/transports/fs/whole_files.hpp>

#include "support/forked_process.hpp"
#include "transports/fs/temporary_directory.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::fs {
namespace {

using test::TemporaryDirectory;

class NewFileTest : public ::testing::Test {
  protected:
    // In a fiber, and on this thread.
    template <class Body>
    void inBoth(Body body) {
        CarrierOptions options;
        options.carriers = 1;
        {
            CarrierGroup group(options);
            group.spawn(body).join();
        }  // its pool has run what the destructors left to it
        EXPECT_EQ(directory_.entries(), 1u);
        body();
        EXPECT_EQ(directory_.entries(), 1u);
    }
    const TemporaryDirectory directory_;
    const std::string path_ = directory_.path("file");
};

TEST_F(NewFileTest, AFileAppearsWhenItIsCommitted) {
    inBoth([&] {
        writeFile(path_, "old");
        NewFile file(path_);
        EXPECT_TRUE(file.isOpen());
        EXPECT_EQ(file.path(), path_);
        file.write("ne");
        file.write("w");
        EXPECT_EQ(readFile(path_, 100), "old");
        file.commit();
        EXPECT_FALSE(file.isOpen());
        EXPECT_EQ(readFile(path_, 100), "new");
        ErrorCode error;
        file.write("x", error);
        EXPECT_EQ(error, fromErrno(EBADF));
        file.commit(error);
        EXPECT_EQ(error, fromErrno(EBADF));
    });
}

TEST_F(NewFileTest, AnEmptyFileIsOne) {
    inBoth([&] {
        NewFile(path_).commit();
        EXPECT_EQ(readFile(path_, 100), "");
    });
}

TEST_F(NewFileTest, OfAFileThatIsNotCommittedNothingIsLeft) {
    inBoth([&] {
        writeFile(path_, "old");
        {
            NewFile file(path_);
            file.write("new");
        }
        NewFile moved(path_);
        NewFile other(directory_.path("other"));
        moved = std::move(other);  // discards the first one
        EXPECT_FALSE(other.isOpen());
        EXPECT_TRUE(moved.isOpen());
        EXPECT_EQ(readFile(path_, 100), "old");
    });
}

TEST_F(NewFileTest, TheLaterOfTwoCounts) {
    inBoth([&] {
        NewFile first(path_);
        NewFile second(path_);
        first.write("first");
        second.write("second");
        second.commit();
        first.commit();
        EXPECT_EQ(readFile(path_, 100), "first");
    });
}

TEST_F(NewFileTest, AfterAFailedWriteItCannotBeCommitted) {
    EXPECT_EQ(test::resultOfFork([&] {
                  std::signal(SIGXFSZ, SIG_IGN);
                  const rlimit small{4096, 4096};
                  ::setrlimit(RLIMIT_FSIZE, &small);
                  NewFile file(path_);
                  ErrorCode error;
                  file.write(std::string(8192, 'x'), error);
                  if (error != fromErrno(EFBIG)) return 1;
                  file.commit(error);
                  return error == fromErrno(EFBIG) ? 0 : 2;
              }),
              0);
    EXPECT_EQ(directory_.entries(), 0u);
}

// The pool takes no call of a fiber that has been cancelled.
TEST_F(NewFileTest, AfterAWriteThatWasNotBegunItCannotBeCommitted) {
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    group
        .spawn([&] {
            NewFile file(path_);
            ErrorCode error;
            {
                const DeadlineScope over(std::chrono::seconds(0));
                file.write("lost", error);
            }
            ASSERT_TRUE(error);
            file.write("more", error);
            EXPECT_TRUE(error);
            file.commit(error);
            EXPECT_TRUE(error);
        })
        .join();
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(20)));
    EXPECT_EQ(directory_.entries(), 0u);
}

TEST_F(NewFileTest, APathThatCannotBeMadeIsNamed) {
    const std::string wrong = directory_.path("none/file");
    try {
        NewFile file(wrong);
        ADD_FAILURE();
    } catch (const SystemError& error) {
        EXPECT_EQ(error.code(), fromErrno(ENOENT));
        EXPECT_THAT(error.what(), testing::HasSubstr("fs::NewFile '" + wrong + "'"));
    }
    ErrorCode error;
    EXPECT_FALSE(NewFile::open(wrong, error).isOpen());
    EXPECT_EQ(error, fromErrno(ENOENT));
    EXPECT_FALSE(NewFile::open(std::string("a\0b", 3), error).isOpen());
    EXPECT_EQ(error, fromErrno(EINVAL));
    NewFile good = NewFile::open(path_, error);
    EXPECT_FALSE(error);
    EXPECT_TRUE(good.isOpen());
}

TEST_F(NewFileTest, AFormerFilesPermissionsAreKept) {
    writeFile(path_, "old", 0600);
    NewFile file(path_, 0666);
    file.write("new");
    file.commit();
    EXPECT_EQ(File::open(path_).stat().permissions, mode_t{0600});
    NewFile late(path_);
    std::filesystem::permissions(path_, std::filesystem::perms(0640));
    late.commit();
    EXPECT_EQ(File::open(path_).stat().permissions, mode_t{0640}) << "those at the commit";
    NewFile other(directory_.path("other"), 0400);
    other.commit();
    EXPECT_EQ(File::open(directory_.path("other")).stat().permissions, mode_t{0400});
}

// The kernel ends the process: no destructor runs.
TEST_F(NewFileTest, AProcessThatDiesLeavesNothing) {
    if (!NewFile(path_).isOpen() || directory_.entries() > 0) GTEST_SKIP() << "this file system has no unnamed files";
    EXPECT_EQ(test::resultOfFork([&] {
                  NewFile file(path_);
                  file.write("new");
                  ::_exit(3);
                  return 0;
              }),
              3);
    EXPECT_EQ(directory_.entries(), 0u);
}

}  // namespace
}  // namespace weft::fs
