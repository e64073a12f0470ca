// A port belongs to one process, even when several bind at the same time.
#include <weft/framework/server_bootstrap.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/bench.hpp"
#include "framework/contender.hpp"
#include "framework/reserved_port.hpp"

namespace weft::test {
namespace {

constexpr int rounds = 200;

// A barrier in memory shared by the processes that are forked during its lifetime.
class MeetingPoint {
  public:
    explicit MeetingPoint(int processes) : processes_(processes) {
        void* memory = ::mmap(nullptr, sizeof *arrived_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        arrived_ = new (memory) std::atomic<int>(0);
    }
    ~MeetingPoint() { ::munmap(arrived_, sizeof *arrived_); }
    MeetingPoint(const MeetingPoint&) = delete;
    MeetingPoint& operator=(const MeetingPoint&) = delete;

    // Returns in all of them at about the same time.
    void await(int round) {
        ++*arrived_;
        while (*arrived_ < processes_ * (round + 1)) ::sched_yield();
    }

  private:
    const int processes_;
    std::atomic<int>* arrived_ = nullptr;
};

enum class Outcome : char { dead = 0, owns = 'o', refused = 'r', failed = 'f' };

// A server in a process of its own; forked while this process has no other threads.
class ContenderProcess {
  public:
    ContenderProcess(AcceptMode mode, const SocketAddress& address, MeetingPoint& start) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::bad_alloc();
        child_ = ::fork();
        if (child_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::close(ends[0]);
            serve(Fd(ends[1]), mode, address, start);
            ::_exit(0);
        }
        ::close(ends[1]);
        connection_ = Fd(ends[0]);
    }
    ~ContenderProcess() {
        if (child_ <= 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    ContenderProcess(const ContenderProcess&) = delete;
    ContenderProcess& operator=(const ContenderProcess&) = delete;

    // One round: orders the bind, receives its outcome, makes the process give the port up.
    void bind() { say('b'); }
    Outcome outcome() { return static_cast<Outcome>(hear()); }
    bool givesUp() {
        say('e');
        return hear() == 'e';
    }

  private:
    static void serve(const Fd connection, AcceptMode mode, const SocketAddress& address, MeetingPoint& start) {
        Contender contender(mode);
        char told = 0;
        for (int round = 0; ::read(connection.get(), &told, 1) == 1; ++round) {
            start.await(round);
            contender.bindOnce(address);
            const bool inUse = contender.error() == fromErrno(EADDRINUSE);
            const Outcome outcome = contender.owns() ? Outcome::owns : inUse ? Outcome::refused : Outcome::failed;
            if (::write(connection.get(), &outcome, 1) != 1 || ::read(connection.get(), &told, 1) != 1) return;
            contender.giveUp();
            if (::write(connection.get(), &told, 1) != 1) return;
        }
    }

    void say(char word) { EXPECT_EQ(::send(connection_.get(), &word, 1, MSG_NOSIGNAL), 1); }
    char hear() {
        char word = 0;
        return ::read(connection_.get(), &word, 1) == 1 ? word : 0;
    }

    pid_t child_ = -1;
    Fd connection_;
};

void contend(AcceptMode mode, AcceptMode otherMode) {
    const ReservedPort port;
    MeetingPoint start(2);
    ContenderProcess one(mode, port.address(), start);
    ContenderProcess other(otherMode, port.address(), start);
    for (int round = 0; round < rounds; ++round) {
        one.bind();
        other.bind();
        const std::string outcomes{static_cast<char>(one.outcome()), static_cast<char>(other.outcome())};
        ASSERT_TRUE(outcomes == "or" || outcomes == "ro") << "round " << round << ": " << outcomes;
        EXPECT_TRUE(port.isServed());
        ASSERT_TRUE(one.givesUp() && other.givesUp());
    }
}

TEST(PortOfTwoProcesses, WithAListenerPerLoopExactlyOneHasIt) {
    contend(AcceptMode::perLoop, AcceptMode::perLoop);
}

TEST(PortOfTwoProcesses, WithOneListenerExactlyOneHasIt) {
    contend(AcceptMode::single, AcceptMode::single);
}

TEST(PortOfTwoProcesses, WithListenersOfBothKindsExactlyOneHasIt) {
    contend(AcceptMode::perLoop, AcceptMode::single);
}

}  // namespace
}  // namespace weft::test
