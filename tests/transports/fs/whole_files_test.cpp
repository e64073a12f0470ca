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

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
    writeFile(path, "old");
    for (const mode_t kept : {0600, 0666, 0755, 06755}) {  // more than the new file's and fewer, whatever the umask is
        for (const mode_t asked : {0600, 0666}) {
            std::filesystem::permissions(path, std::filesystem::perms(kept));
            replaceFile(path, "new", asked);
            EXPECT_EQ(File::open(path).stat().permissions, kept);
        }
    }
    replaceFile(directory.path("other"), "new", 0400);
    EXPECT_EQ(File::open(directory.path("other")).stat().permissions, mode_t{0400});
}

// The process ends with 7 at its next fchmod(). Until then, no file system has files without a name.
bool endAtFchmod() {
    std::signal(SIGSYS, [](int) { ::_exit(7); });
    std::array<sock_filter, 8> instructions{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
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

mode_t permissionsOf(const std::string& path) {
    struct ::stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
}

TEST(WholeFiles, AReplacementWithAnotherOwnerRunsWithNobodysRights) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    constexpr uid_t other = 65'534;
    const auto replaced = [&](uid_t user, gid_t group, mode_t permissions) {
        writeFile(path, "old");
        EXPECT_EQ(::chown(path.c_str(), user, group), 0);
        EXPECT_EQ(::chmod(path.c_str(), permissions), 0);
        replaceFile(path, "new");
        const mode_t now = permissionsOf(path);
        EXPECT_EQ(::unlink(path.c_str()), 0);
        return now;
    };
    EXPECT_EQ(replaced(::geteuid(), ::getegid(), 06750), mode_t{06750});
    EXPECT_EQ(replaced(other, ::getegid(), 06750), mode_t{02750});
    EXPECT_EQ(replaced(::geteuid(), other, 06755), mode_t{04755});
    EXPECT_EQ(replaced(other, other, 06755), mode_t{00755});
    EXPECT_EQ(replaced(::geteuid(), other, 0660), mode_t{0600}) << "the new group was one of the others";
    EXPECT_EQ(replaced(other, other, 0764), mode_t{0744});
}

TEST(WholeFiles, AReplacementNeedsNoNameThatIsFree) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    for (int i = 0; i < 1000; ++i)
        writeFile(path + '.' + std::to_string(::getpid()) + '-' + std::to_string(i) + ".tmp", "left");
    replaceFile(path, "new");
    EXPECT_EQ(readFile(path, 100), "new");
    EXPECT_EQ(directory.entries(), 1001u);
}

TEST(WholeFiles, AFileIsReplacedHoweverLongItsNameIs) {
    const TemporaryDirectory directory;
    for (const std::size_t length : {1, 245, 255}) {
        const std::string path = directory.path(std::string(length, 'n'));
        writeFile(path, "old");
        replaceFile(path, "new");
        EXPECT_EQ(readFile(path, 100), "new");
    }
    EXPECT_EQ(directory.entries(), 3u);
}

TEST(WholeFiles, AFileIsReplacedByARelativePath) {
    const TemporaryDirectory directory;
    EXPECT_EQ(test::resultOfFork([&] {
                  if (::chdir(directory.path("").c_str()) != 0) return 1;
                  replaceFile("file", "new");
                  return readFile(directory.path("file"), 100) == "new" ? 0 : 2;
              }),
              0);
    EXPECT_EQ(directory.entries(), 1u);
}

// The directory can be searched and written to, but not opened, so it cannot be synced by itself.
TEST(WholeFiles, AFileInAnUnreadableDirectoryIsReplaced) {
    const TemporaryDirectory directory;
    EXPECT_EQ(test::resultOfFork([&] {
                  const std::string path = directory.path("file");
                  const std::string all = directory.path("");
                  constexpr uid_t user = 65'534;
                  writeFile(path, "old", 0644);
                  if (::geteuid() == 0 && (::chown(all.c_str(), user, user) != 0 || ::setresuid(user, user, user) != 0))
                      return 1;
                  if (::chmod(all.c_str(), 0300) != 0) return 2;
                  ErrorCode error;
                  replaceFile(path, "new", error);
                  if (error) return 3;
                  return readFile(path, 100) == "new" ? 0 : 4;
              }),
              0);
}

// The kernel kills the process in the middle of the write.
TEST(WholeFiles, AProcessThatDiesWhileItReplacesAFileLeavesNothing) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("file");
    const int unnamed = ::open(directory.path("").c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (unnamed < 0) GTEST_SKIP() << "this file system has no unnamed files";
    ::close(unnamed);
    writeFile(path, "old");
    EXPECT_EQ(test::resultOfFork([&] {
                  const rlimit small{4096, 4096};
                  ::setrlimit(RLIMIT_FSIZE, &small);
                  const rlimit noDump{0, 0};
                  ::setrlimit(RLIMIT_CORE, &noDump);
                  replaceFile(path, std::string(8192, 'x'));
                  return 0;
              }),
              -1);
    EXPECT_EQ(readFile(path, 100), "old");
    EXPECT_EQ(directory.entries(), 1u);
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
