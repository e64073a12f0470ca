// Servers in several threads and processes bind to one port at the same time: in each round exactly one gets it.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/chaos.hpp"
#include "chaos/sub_role.hpp"
#include "framework/contender.hpp"
#include "framework/reserved_port.hpp"

namespace weft::test {
namespace {

constexpr std::array modes{AcceptMode::perLoop, AcceptMode::single};

// Requests to a contender and its replies, one message each.
enum class Order : unsigned char { bind, giveUp };
struct Message {
    Order order;
    std::uint16_t port;
};
enum class Outcome : unsigned char { owner, refused, failed };

Outcome bindOnce(Contender& contender, std::uint16_t port) {
    contender.bindOnce(SocketAddress::loopbackV4(port));
    if (contender.owns()) return Outcome::owner;
    return contender.error() == fromErrno(EADDRINUSE) ? Outcome::refused : Outcome::failed;
}

// The process of a contender: obeys the messages on its standard input, a socket, until that ends.
int contend(int, char** argv) {
    Contender contender(modes.at(static_cast<std::size_t>(std::atoi(argv[0]))));
    Message message{};
    while (::recv(STDIN_FILENO, &message, sizeof message, 0) == sizeof message) {
        Outcome outcome = Outcome::refused;
        if (message.order == Order::bind) outcome = bindOnce(contender, message.port);
        else contender.giveUp();
        ::send(STDIN_FILENO, &outcome, sizeof outcome, MSG_NOSIGNAL);
    }
    return 0;
}

[[maybe_unused]] const bool registered = subRoles().emplace("contender", contend).second;

class ContenderProcess {
  public:
    explicit ContenderProcess(std::size_t mode) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        line_ = Fd(ends[0]);
        const Fd its(ends[1]);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, its.get(), STDIN_FILENO);
        std::string number = std::to_string(mode);
        std::array<char, 10> role{"contender"};
        std::array<char, 6> program{"chaos"};
        std::array<char*, 4> arguments{program.data(), role.data(), number.data(), nullptr};
        EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ), 0);
        ::posix_spawn_file_actions_destroy(&actions);
    }
    ~ContenderProcess() {
        line_.close();
        int status = 0;
        ::waitpid(pid_, &status, 0);
        if (status != 0) wrong("a contender's process ends with status " + std::to_string(status));
    }
    ContenderProcess(const ContenderProcess&) = delete;
    ContenderProcess& operator=(const ContenderProcess&) = delete;

    void tell(Order order, std::uint16_t port) {
        const Message message{order, port};
        ::send(line_.get(), &message, sizeof message, MSG_NOSIGNAL);
    }
    Outcome outcome() {
        Outcome outcome = Outcome::failed;
        ::recv(line_.get(), &outcome, sizeof outcome, 0);
        return outcome;
    }

  private:
    Fd line_;
    pid_t pid_ = -1;
};

class Round {
  public:
    Round() {
        for (std::size_t mode = 0; mode < modes.size(); ++mode) {
            processes_.push_back(std::make_unique<ContenderProcess>(mode));
            contenders_.push_back(std::make_unique<Contender>(modes[mode]));
        }
    }
    void run(std::uint16_t port, Dice& dice) {
        std::vector<Outcome> outcomes(contenders_.size(), Outcome::refused);
        for (auto& process : processes_) process->tell(Order::bind, port);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < contenders_.size(); ++i) {
            if (dice.oneIn(8)) continue;
            threads.emplace_back([&, i] { outcomes[i] = bindOnce(*contenders_[i], port); });
        }
        for (auto& thread : threads) thread.join();
        for (auto& process : processes_) outcomes.push_back(process->outcome());
        judge(outcomes);
        for (auto& contender : contenders_) contender->giveUp();
        for (auto& process : processes_) process->tell(Order::giveUp, port);
        for (auto& process : processes_) process->outcome();
    }

  private:
    static void judge(const std::vector<Outcome>& outcomes) {
        const auto owners = std::count(outcomes.begin(), outcomes.end(), Outcome::owner);
        if (owners != 1) wrong(std::to_string(owners) + " servers have the port");
        if (std::count(outcomes.begin(), outcomes.end(), Outcome::failed) != 0)
            wrong("a bind fails with another error");
    }

    std::vector<std::unique_ptr<ContenderProcess>> processes_;
    std::vector<std::unique_ptr<Contender>> contenders_;
};

TEST(SocketChaos, SimultaneousBindsGiveAPortExactlyOneServer) {
    ChaosRun run("rounds");
    Round round;
    for (Dice dice(0); run.goesOn();) {
        const ReservedPort port;
        for (int i = 0; i < 20 && run.goesOn(); ++i, run.count()) round.run(port.address().port(), dice);
    }
}

}  // namespace
}  // namespace weft::test
