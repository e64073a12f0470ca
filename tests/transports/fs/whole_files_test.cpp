// Files that are read, written or replaced in one call.
#include <weft/transports/fs/whole_files.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/transports/fs/file.hpp>

#include "support/forked_process.hpp"
#include "transports/fs/temporary_directory.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::fs {
namespace {

using test::TemporaryDirectory;

TEST(WholeFiles, WhatIsWrittenIsRead) {
    const TemporaryDirectory directory;
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    const auto check = [&] {
        const std::string path = directory.path("file");
        writeFile(path, "longer text");
        EXPECT_EQ(readFile(path, 100), "longer text");
        writeFile(path, "short");
        EXPECT_EQ(readFile(path, 5), "short");
        ErrorCode error;
        EXPECT_EQ(readFile(path, 4, error), "");
        EXPECT_EQ(error, fromErrno(EFBIG));
        replaceFile(path, "replaced");
        EXPECT_EQ(readFile(path, 100, error), "replaced");
        EXPECT_FALSE(error);
        EXPECT_EQ(directory.entries(), 1u);
    };
    check();
    group.spawn(check).join();
}

TEST(WholeFiles, ErrorsNameTheCallThePathAndTheReason) {
    const TemporaryDirectory directory;
    const auto message = [](auto call) -> std::string {
        try {
            call();
        } catch (const SystemError& error) {
            return error.what();
        }
        return "no error";
    };
    const std::string path = directory.path("none/file");
    EXPECT_THAT(message([&] { readFile(path, 1); }), testing::HasSubstr("readFile '" + path + "': No such file"));
    EXPECT_THAT(message([&] { writeFile(path, "x"); }), testing::HasSubstr("writeFile '" + path + "': No such file"));
    EXPECT_THAT(message([&] { replaceFile(path, "x"); }), testing::HasSubstr("replaceFile '" + path + "': No such"));
    EXPECT_THAT(message([&] { writeFile("/dev/full", "x"); }), testing::HasSubstr("No space left on device"));
}

TEST(WholeFiles, AReplacedFileKeepsItsPermissions) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    writeFile(path, "old", 0600);
    replaceFile(path, "new", 0666);
    EXPECT_EQ(File::open(path).stat().permissions, mode_t{0600});
    replaceFile(directory.path("other"), "new", 0400);
    EXPECT_EQ(File::open(directory.path("other")).stat().permissions, mode_t{0400});
}

// The process ends with 7 at its next fchmod().
bool endAtFchmod() {
    std::signal(SIGSYS, [](int) { ::_exit(7); });
    std::array<sock_filter, 4> instructions{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{instructions.size(), instructions.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(WholeFiles, AReplacementIsCreatedWithNoMorePermissionsThanTheFormerFile) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    writeFile(path, "old", 0600);
    EXPECT_EQ(test::resultOfFork([&] {
                  ::umask(0);
                  if (!endAtFchmod()) return 1;
                  replaceFile(path, "new", 0666);
                  return 2;
              }),
              7);
    EXPECT_EQ(directory.entries(), 2u) << "the former file and the new one";
    for (const auto& entry : std::filesystem::directory_iterator(directory.path("")))
        EXPECT_EQ(File::open(entry.path()).stat().permissions, mode_t{0600}) << entry.path();
}

TEST(WholeFiles, AFileThatReportsMoreBytesThanItHasIsRead) {
    const std::string path = "/sys/devices/system/cpu/online";
    ErrorCode error;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no sysfs is mounted here";
    if (File::open(path).stat().size <= 100) GTEST_SKIP() << path << " reports its real size";
    EXPECT_NE(readFile(path, 100, error), "");
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(readFile(path, 1, error), "");
    EXPECT_EQ(error, fromErrno(EFBIG)) << "it has two bytes or more";
}

TEST(WholeFiles, ADirectoryIsNoFileWhateverTheLimit) {
    const TemporaryDirectory directory;
    ErrorCode error;
    for (const std::size_t limit : {0, 1, 1 << 20}) {
        EXPECT_EQ(readFile(directory.path(""), limit, error), "");
        EXPECT_EQ(error, fromErrno(EISDIR));
    }
}

TEST(WholeFiles, AFailedReplacementLeavesNothing) {
    const TemporaryDirectory directory;
    ASSERT_TRUE(std::filesystem::create_directory(directory.path("taken")));
    ErrorCode error;
    replaceFile(directory.path("taken"), "x", error);
    EXPECT_EQ(error, fromErrno(EISDIR));
    EXPECT_EQ(directory.entries(), 1u);
}

TEST(WholeFiles, AReaderSeesTheOldBytesOrTheNewOnes) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    const std::string old(100'000, 'o');
    const std::string fresh(200'000, 'n');
    replaceFile(path, old);
    std::atomic<bool> ended{false};
    std::atomic<int> reads{0};
    std::thread reader([&] {
        while (!ended || reads == 0) {
            const std::string seen = readFile(path, 1 << 20);
            EXPECT_TRUE(seen == old || seen == fresh) << seen.size();
            ++reads;
        }
    });
    for (int i = 0; i < 20; ++i) replaceFile(path, i % 2 == 0 ? fresh : old);
    ended = true;
    reader.join();
}

}  // namespace
}  // namespace weft::fs
