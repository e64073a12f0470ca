// Two custom pollers hosted by carriers: one spins on a mailbox in memory, one blocks in the kernel. Both follow the
// protocol of PinnedPoller, so that fibers on the same carriers run between their polls without another thread.
#include "support/program.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace {

constexpr std::size_t letters = 3;

void say(const std::string& text) {
    std::cout << text + "\n" << std::flush;
}

// A device for a spinning poller: it cannot notify anyone, so it must be polled.
class Mailbox {
  public:
    void put(int letter) {
        while (letter_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
        letter_.store(letter, std::memory_order_release);
    }
    int take() { return letter_.exchange(0, std::memory_order_acq_rel); }

  private:
    std::atomic<int> letter_{0};
};

// A device for a blocking poller: the kernel reports when it has something. The carrier's wake-ups use the same
// descriptor, so a wake-up only means that there may be a letter.
class Doorbell {
  public:
    Doorbell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
        if (fd_ < 0) throw weft::SystemError(weft::fromErrno(errno), "eventfd");
    }
    ~Doorbell() { ::close(fd_); }
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;

    void bring() {
        letters_.fetch_add(1, std::memory_order_release);
        ring();
    }
    void ring() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
    }
    int take() {
        std::uint64_t rings = 0;
        [[maybe_unused]] const auto size = ::read(fd_, &rings, sizeof rings);
        return letters_.exchange(0, std::memory_order_acquire);
    }
    void waitUntil(weft::Deadline deadline) const {
        pollfd wanted{fd_, POLLIN, 0};
        if (deadline == weft::never) {
            ::ppoll(&wanted, 1, nullptr, nullptr);
            return;
        }
        const auto left = std::max<weft::Duration>(deadline - std::chrono::steady_clock::now(), {});
        const timespec time{static_cast<time_t>(left.count() / 1'000'000'000),
                            static_cast<long>(left.count() % 1'000'000'000)};
        ::ppoll(&wanted, 1, &time, nullptr);
    }

  private:
    const int fd_;
    std::atomic<int> letters_{0};
};

// The poller passes each letter to a fiber, which may block.
weft::JoinHandle<void> deliver(weft::Carrier& carrier, int letter) {
    return carrier.spawn([letter] {
        weft::thisFiber::sleepFor(std::chrono::milliseconds(1));
        say("  a fiber on " + weft::thisFiber::carrier()->name() + " handled letter " + std::to_string(letter));
    });
}

// After its loop a poller may park like any fiber; its carrier continues without it.
void joinAll(std::vector<weft::JoinHandle<void>>& fibers) {
    for (auto& fiber : fibers) fiber.join();
}

// Never sleeps: polls, lets fibers run, polls again. This occupies a CPU, but a letter never waits for a wake-up.
void spin(weft::PinnedPoller& poller, Mailbox& mailbox) {
    say("the spinning poller checks its mailbox without pause");
    std::vector<weft::JoinHandle<void>> fibers;
    while (fibers.size() < letters && !poller.stopRequested()) {
        const int letter = mailbox.take();
        if (letter != 0) fibers.push_back(deliver(poller.carrier(), letter));
        poller.maybeYield(letter != 0);
    }
    joinAll(fibers);
}

// Sleeps in the kernel when its carrier has nothing to run, at most until the carrier's next timer.
void block(weft::PinnedPoller& poller, Doorbell& bell) {
    say("the blocking poller sleeps in the kernel until its doorbell rings");
    std::vector<weft::JoinHandle<void>> fibers;
    while (fibers.size() < letters && !poller.stopRequested()) {
        if (poller.tryParkPoller()) {
            if (poller.canParkPoller()) bell.waitUntil(poller.parkDeadline());
            poller.unpark();
        }
        const int brought = bell.take();
        for (int i = 0; i < brought; ++i) {
            fibers.push_back(deliver(poller.carrier(), static_cast<int>(fibers.size()) + 1));
        }
        poller.maybeYield(brought > 0);
    }
    joinAll(fibers);
}

int run() {
    weft::CarrierOptions options;
    options.carriers = 2;
    weft::CarrierGroup group(options);
    Mailbox mailbox;
    Doorbell bell;
    const auto spinning = group.carrier(0).registerPinnedPoller(
        [] {}, [&](weft::PinnedPoller& poller) { spin(poller, mailbox); }, "spinning");
    const auto blocking = group.carrier(1).registerPinnedPoller(
        [&] { bell.ring(); }, [&](weft::PinnedPoller& poller) { block(poller, bell); }, "blocking");
    for (int letter = 1; letter <= static_cast<int>(letters); ++letter) {
        mailbox.put(letter);
        bell.bring();
    }
    spinning.get();
    blocking.get();
    while (!group.shutdown(std::chrono::seconds(5))) {
    }
    say("both pollers have returned");
    return examples::success;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Hosts a spinning and a blocking poller on two carriers and hands each three letters.",
                 "custom_poller");
    return examples::runProgram(app, argc, argv, run);
}
