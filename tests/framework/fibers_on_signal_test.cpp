// FibersOnSignal: each signal writes the fiber dump to a file; a failed write is logged.
#include <weft/framework/fibers_on_signal.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/framework/trace_on_signal.hpp>
#include <weft/scheduler/future.hpp>

#include "file_on_signal.hpp"
#include "framework/named_pipe.hpp"
#include "support/forked_process.hpp"
#include "support/log_capture.hpp"
#include "support/sanitized.hpp"
#include "support/threads.hpp"

namespace weft::test {
namespace {

constexpr const char* totalOfNoFibers = "total: 0 fibers on 1 carriers\n";
constexpr const char* unusedDump = "/nowhere/unused.txt";

CarrierOptions oneCarrierToDump() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

// Creates the descriptor that stays open for the process's life, so that no test counts it as a leak.
[[maybe_unused]] const bool theSignalWasTaken = [] {
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, unusedDump);
    return true;
}();

std::string contentOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FibersOnSignalTest, EachSignalWritesTheDump) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("weft-fibers-" + std::to_string(::getpid()))).string();
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, path);
    Promise<void> promise;
    auto fiber = group.spawn([&] { promise.future().await(); }, {.name = "listed"});
    for (int i = 1; i <= 2; ++i) {
        ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
        while (log.count("fiber dump written to " + path) < i) std::this_thread::yield();
        const std::string text = contentOf(path);
        EXPECT_NE(text.find(" 'listed' of weft0: "), std::string::npos) << text;
        EXPECT_NE(text.find("total: 1 fibers on 1 carriers: "), std::string::npos) << text;
        std::filesystem::remove(path);
    }
    promise.setValue();
    fiber.join();
}

TEST(FibersOnSignalTest, AFileThatCannotBeWrittenIsLogged) {
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, "/nowhere/fibers.txt");
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the fiber dump cannot be written to /nowhere/fibers.txt: No such file or directory"));
}

void writeDump(const std::string& path) {
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, path);
    EXPECT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("fiber dump written to " + path)) << log.text();
}

detail::FileOnSignalOptions throwingDump(const std::string& path) {
    const auto write = [](std::ostream&) { throw std::runtime_error("no memory for the dump"); };
    return {.owner = "ThrowingDump", .what = "dump", .path = path, .signal = SIGUSR2, .write = write};
}

[[maybe_unused]] const bool aThrowingDumpWasMade = [] {
    const detail::FileOnSignal dump(throwingDump(unusedDump));
    return true;
}();

class FilesOfDumps : public testing::Test {
  protected:
    FilesOfDumps() { std::filesystem::create_directory(directory_); }
    ~FilesOfDumps() override { std::filesystem::remove_all(directory_); }

    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("weft-dumps-" + std::to_string(::getpid()));
    const std::string file_ = directory_ / "file";
    const std::string link_ = directory_ / "link";
};

TEST_F(FilesOfDumps, AFileToWhichASymbolicLinkLeadsIsAppendedTo) {
    std::ofstream(file_) << "before\n";
    std::filesystem::create_symlink("file", link_);
    writeDump(link_);
    EXPECT_TRUE(std::filesystem::is_symlink(link_));
    EXPECT_EQ(contentOf(file_).rfind("before\n", 0), 0u);
    EXPECT_NE(contentOf(file_).find(totalOfNoFibers), std::string::npos) << contentOf(file_);
}

TEST_F(FilesOfDumps, ASymbolicLinkToNothingCreatesTheFile) {
    std::filesystem::create_symlink("file", link_);
    writeDump(link_);
    EXPECT_NE(contentOf(file_).find(totalOfNoFibers), std::string::npos) << contentOf(file_);
}

// Another user of the directory can guess the name of the part.
TEST_F(FilesOfDumps, ALinkThatWaitsAtTheNameOfThePartIsNotFollowed) {
    std::ofstream(file_) << "untouched\n";
    const std::string dump = directory_ / "dump";
    std::filesystem::create_symlink("file", dump + ".part");
    writeDump(dump);
    EXPECT_EQ(contentOf(file_), "untouched\n");
    EXPECT_FALSE(std::filesystem::is_symlink(dump));
    EXPECT_NE(contentOf(dump).find(totalOfNoFibers), std::string::npos) << contentOf(dump);
}

TEST_F(FilesOfDumps, APartThatCannotBeWrittenIsRemoved) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, file_);
    const rlimit small{1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the fiber dump cannot be written to " + file_ + ": File too large"));
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(FilesOfDumps, APartIsRemovedAfterAnException) {
    LogCapture log;
    const detail::FileOnSignal dump(throwingDump(file_));
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the dump cannot be written to " + file_ + ": no memory for the dump"));
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// As /dev/stderr after 2>file, by a link of its own.
TEST_F(FilesOfDumps, AnOpenFileOfTheProgramIsWrittenWhereItStands) {
    const int log = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(log, 0);
    ASSERT_EQ(::write(log, "before\n", 7), 7);
    std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(log), link_);
    writeDump(link_);
    ASSERT_EQ(::write(log, "after\n", 6), 6);
    ::close(log);
    const std::string text = contentOf(file_);
    EXPECT_EQ(text.rfind("before\n", 0), 0u);
    EXPECT_NE(text.find(totalOfNoFibers), std::string::npos) << text;
    EXPECT_EQ(text.find("\nafter\n"), text.size() - 7) << text;
}

// As /dev/stderr of a service whose output goes to a journal.
TEST_F(FilesOfDumps, ASocketOfTheProgramIsWrittenTo) {
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    writeDump("/proc/self/fd/" + std::to_string(sockets[0]));
    ::close(sockets[0]);
    std::string text(8192, '\0');
    const ssize_t size = ::recv(sockets[1], text.data(), text.size(), MSG_WAITALL);
    ::close(sockets[1]);
    ASSERT_GT(size, 0);
    text.resize(static_cast<std::size_t>(size));
    EXPECT_NE(text.find(totalOfNoFibers), std::string::npos) << text;
}

// So many that their dump does not fit into a pipe.
class WaitingFibers {
  public:
    explicit WaitingFibers(CarrierGroup& group) {
        for (int i = 0; i < 100; ++i) fibers_.push_back(group.spawn([this] { promise_.future().await(); }));
    }
    ~WaitingFibers() {
        promise_.setValue();
        for (auto& fiber : fibers_) fiber.join();
    }
    WaitingFibers(const WaitingFibers&) = delete;
    WaitingFibers& operator=(const WaitingFibers&) = delete;

  private:
    Promise<void> promise_;
    std::vector<JoinHandle<void>> fibers_;
};

TEST(FibersOnSignalTest, APipeWithoutAReaderIsAFailureThatIsLogged) {
    NamedPipe pipe;
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, pipe.path());
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the fiber dump cannot be written to " + pipe.path() + ": No such device or address"));
}

TEST(FibersOnSignalTest, APipeThatStaysFullIsAFailureThatIsLogged) {
    NamedPipe pipe;
    pipe.openReader();
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const WaitingFibers fibers(group);
    const FibersOnSignal dump(group, pipe.path());
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the fiber dump cannot be written to " + pipe.path() + ": its reader has read nothing"));
}

TEST(FibersOnSignalTest, ASocketThatStaysFullIsAFailureThatIsLogged) {
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    const int least = 0;
    ASSERT_EQ(::setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    const std::string path = "/proc/self/fd/" + std::to_string(sockets[0]);
    {
        LogCapture log;
        CarrierGroup group(oneCarrierToDump());
        const WaitingFibers fibers(group);
        const FibersOnSignal dump(group, path);
        ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
        EXPECT_TRUE(log.await("the fiber dump cannot be written to " + path + ": its reader has read nothing"));
    }
    for (const int socket : sockets) ::close(socket);
}

TEST(FibersOnSignalTest, AReaderThatIsSlowReceivesTheWholeDump) {
    NamedPipe pipe;
    const int reader = pipe.openReader();
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const WaitingFibers fibers(group);
    const FibersOnSignal dump(group, pipe.path());
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    std::string text;
    for (char piece[100]; text.find("\ntotal: 100 fibers on 1 carriers: ") == std::string::npos;) {
        const ssize_t size = ::read(reader, piece, sizeof piece);
        if (size > 0) text.append(piece, static_cast<std::size_t>(size));
        if (size <= 0) std::this_thread::yield();
        if (log.count("cannot be written") != 0) break;
    }
    EXPECT_GT(text.size(), std::size_t{NamedPipe::smallest});
    EXPECT_TRUE(log.await("fiber dump written to " + pipe.path())) << log.text();
}

// A forked process may inherit the address sanitizer's allocator locked, and the thread sanitizer ends one that starts
// threads.
#ifndef WEFT_SANITIZED
// A request wakes the thread that writes dumps before the process that has made the request can end.
void awaitHandledRequests() {
    while (!threadSleeps("weft-on-signal")) std::this_thread::yield();
}

TEST(FibersOnSignalTest, AForkedProcessCausesNoDumpInItsParent) {
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    auto dump = std::make_unique<FibersOnSignal>(group, unusedDump);
    awaitHandledRequests();
    for (const bool signalled : {true, false}) {
        EXPECT_EQ(resultOfFork([&] {
                      if (signalled) std::raise(SIGUSR2);
                      dump.reset();
                      return 0;
                  }),
                  0);
        awaitHandledRequests();
        EXPECT_EQ(log.count("the fiber dump"), 0) << log.text();
    }
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the fiber dump cannot be written to /nowhere/unused.txt"));
}

TEST(FibersOnSignalTest, AForkedProcessMayHaveAnObjectOfItsOwn) {
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    auto dump = std::make_unique<FibersOnSignal>(group, unusedDump);
    EXPECT_EQ(resultOfFork([&] {
                  CarrierGroup own(oneCarrierToDump());
                  const FibersOnSignal ownDump(own, "/nowhere/own.txt");
                  std::raise(SIGUSR2);
                  const bool dumped = log.await("the fiber dump cannot be written to /nowhere/own.txt");
                  dump.reset();
                  return dumped ? 0 : 1;
              }),
              0);
}
#endif

TEST(FibersOnSignalTest, ASecondObjectInAProcessIsRefused) {
    CarrierGroup group(oneCarrierToDump());
    {
        const FibersOnSignal dump(group, unusedDump);
        EXPECT_THROW(FibersOnSignal(group, unusedDump), std::logic_error);
    }
    EXPECT_NO_THROW(FibersOnSignal(group, unusedDump));
}

TEST(FibersOnSignalTest, ATraceOnSignalMayExistAtTheSameTime) {
    CarrierGroup group(oneCarrierToDump());
    const TraceOnSignal trace(group, unusedDump);
    EXPECT_NO_THROW(FibersOnSignal(group, unusedDump));
}

TEST(FibersOnSignalTest, ASignalThatCannotBeHandledIsRefused) {
    CarrierGroup group(oneCarrierToDump());
    EXPECT_THROW(FibersOnSignal(group, unusedDump, SIGKILL), std::invalid_argument);
    EXPECT_NO_THROW(FibersOnSignal(group, unusedDump));
}

}  // namespace
}  // namespace weft::test
