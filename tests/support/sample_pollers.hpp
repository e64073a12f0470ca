// Pollers as a user may write them, each with the adapter of the conformance kit built in: one that sleeps on a
// condition variable, one that spins, one on epoll and the carrier's wakeFd(), and one with a nested second epoll
// instance. docs/guide/pollers.md refers to them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>

#include <weft/testing/poller_bench.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace weft::test {

// Events that wait for the poller's next poll.
class EventQueue {
  public:
    void push(PollerEvent event) {
        std::lock_guard held(lock_);
        events_.push_back(std::move(event));
    }
    // Calls at most a slice of them, so that endless events do not starve fibers. Returns how many.
    unsigned dispatch() {
        unsigned called = 0;
        while (called < slice && dispatchOne()) ++called;
        return called;
    }
    // Returns false if there was none.
    bool dispatchOne() {
        PollerEvent event;
        if (!pop(event)) return false;
        event();
        return true;
    }
    bool empty() const {
        std::lock_guard held(lock_);
        return events_.empty();
    }

  private:
    static constexpr unsigned slice = 16;

    bool pop(PollerEvent& event) {
        std::lock_guard held(lock_);
        if (events_.empty()) return false;
        event = std::move(events_.front());
        events_.pop_front();
        return true;
    }

    mutable std::mutex lock_;
    std::deque<PollerEvent> events_;
};

// The loop of the protocol, which the sample pollers share. A derived class has open(carrier), wakeup(), ring() (an
// event has arrived), block(deadline), and look(), which dispatches without blocking and returns the number of events.
template <class Derived>
class SamplePoller {
  public:
    Future<void> start(Carrier& carrier) {
        self().open(carrier);
        return carrier.registerPinnedPoller(
            [this] {
                wakeups_.fetch_add(1);
                self().wakeup();
            },
            [this](PinnedPoller& poller) { run(poller); });
    }
    void stop() {
        stop_ = true;
        self().ring();
    }
    void inject(PollerEvent event) {
        queue.push(std::move(event));
        self().ring();
    }
    std::uint64_t looks() const { return looks_; }
    std::uint64_t wakeups() const { return wakeups_; }
    void onGap(std::function<void()> inGap) { inGap_ = std::move(inGap); }

  protected:
    EventQueue queue;

  private:
    Derived& self() { return static_cast<Derived&>(*this); }

    void run(PinnedPoller& poller) {
        bool idle = false;
        while (!stop_ && !poller.stopRequested()) {
            if constexpr (pollerSleeps<Derived>) {
                if (idle && poller.tryParkPoller()) {
                    if (inGap_) inGap_();
                    if (poller.canParkPoller()) self().block(poller.parkDeadline());
                    poller.unpark();
                }
            }
            looks_.fetch_add(1);
            const unsigned events = self().look();
            idle = !poller.maybeYield(events > 0) && events == 0;
        }
    }

    std::function<void()> inGap_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> looks_{0};
    std::atomic<std::uint64_t> wakeups_{0};
};

// Sleeps on a condition variable. The flag makes the wake-up sticky: one that comes before the wait is not lost.
class ConditionPoller final : public SamplePoller<ConditionPoller> {
  public:
    void open(Carrier&) {}
    void wakeup() noexcept { ring(); }
    void ring() noexcept {
        std::lock_guard held(lock_);
        rung_ = true;
        bell_.notify_one();
    }
    void block(Deadline deadline) {
        std::unique_lock held(lock_);
        const auto rung = [this] { return rung_; };
        if (deadline == never) {
            bell_.wait(held, rung);
        } else {
            bell_.wait_until(held, deadline, rung);
        }
        rung_ = false;
    }
    unsigned look() { return queue.dispatch(); }

  private:
    std::mutex lock_;
    std::condition_variable bell_;
    bool rung_ = false;
};

// Never sleeps: it polls, lets fibers run, and polls again. Its carrier is never parked, so no waker calls its wakeup.
class SpinningPoller final : public SamplePoller<SpinningPoller> {
  public:
    static constexpr bool sleeps = false;
    void open(Carrier&) {}
    void wakeup() noexcept {}
    void ring() noexcept {}
    unsigned look() { return queue.dispatch(); }
};

class EventFd {
  public:
    EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
        if (fd_ < 0) throw SystemError(fromErrno(errno), "eventfd");
    }
    ~EventFd() { ::close(fd_); }
    EventFd(const EventFd&) = delete;
    EventFd& operator=(const EventFd&) = delete;

    int get() const { return fd_; }
    void signal() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
    }

  private:
    const int fd_;
};

class EpollSet {
  public:
    EpollSet() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
        if (fd_ < 0) throw SystemError(fromErrno(errno), "epoll_create1");
    }
    ~EpollSet() { ::close(fd_); }
    EpollSet(const EpollSet&) = delete;
    EpollSet& operator=(const EpollSet&) = delete;

    int get() const { return fd_; }
    void add(int fd, std::uint32_t events) {
        epoll_event event{};
        event.events = events;
        event.data.fd = fd;
        if (::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) throw SystemError(fromErrno(errno), "epoll_ctl");
    }
    // Returns how many are ready; waits until `deadline` at most.
    int wait(Deadline deadline) {
        if (deadline == never) return wait(nullptr);
        const auto left = std::max<Duration>(deadline - std::chrono::steady_clock::now(), {});
        const timespec timeout{static_cast<time_t>(left.count() / 1'000'000'000),
                               static_cast<long>(left.count() % 1'000'000'000)};
        return wait(&timeout);
    }
    int look() {
        const timespec none{};
        return wait(&none);
    }

  private:
    int wait(const timespec* timeout) {
        epoll_event ready[8];
        return std::max(::epoll_pwait2(fd_, ready, 8, timeout, nullptr), 0);
    }

    const int fd_;
};

// Sleeps in epoll_wait. The carrier's wakeFd() is watched edge-triggered and never read: every write is an edge,
// including one before the wait.
class EpollPoller final : public SamplePoller<EpollPoller> {
  public:
    void open(Carrier& carrier) {
        carrier_ = &carrier;
        epoll_.add(carrier.wakeFd(), EPOLLIN | EPOLLET);
        epoll_.add(bell_.get(), EPOLLIN | EPOLLET);
    }
    void wakeup() noexcept { carrier_->writeWakeFd(); }
    void ring() noexcept { bell_.signal(); }
    void block(Deadline deadline) { epoll_.wait(deadline); }
    unsigned look() {
        epoll_.look();
        return queue.dispatch();
    }

  private:
    Carrier* carrier_ = nullptr;
    EpollSet epoll_;
    EventFd bell_;
};

// Composition. An inner poller that knows nothing of carriers: an epoll instance with an edge-triggered source, and a
// poll that never blocks. An outer poller watches its descriptor.
class InnerPoller {
  public:
    InnerPoller() { epoll_.add(bell_.get(), EPOLLIN | EPOLLET); }
    int pollFd() const { return epoll_.get(); }
    void watch(int fd) { epoll_.add(fd, EPOLLIN | EPOLLET); }
    void ring() noexcept { bell_.signal(); }
    int poll() { return epoll_.look(); }

  private:
    EpollSet epoll_;
    EventFd bell_;
};

// Where the outer poller watches the carrier's wake-up: in its own set, or in the nested inner one.
enum class WakeUp : std::uint8_t { outside, nested };

// The outer poller blocks in its own epoll set, which contains the inner poller's descriptor, level-triggered. The
// descriptor stays readable until the inner poll has taken every event, however the two races end. Only then is the
// inner poller polled.
template <WakeUp wakeUp>
class OuterPoller final : public SamplePoller<OuterPoller<wakeUp>> {
  public:
    void open(Carrier& carrier) {
        carrier_ = &carrier;
        epoll_.add(inner_.pollFd(), EPOLLIN);
        if constexpr (wakeUp == WakeUp::nested) {
            inner_.watch(carrier.wakeFd());
        } else {
            epoll_.add(carrier.wakeFd(), EPOLLIN | EPOLLET);
        }
    }
    void wakeup() noexcept { carrier_->writeWakeFd(); }
    void ring() noexcept { inner_.ring(); }
    void block(Deadline deadline) { ready_ = epoll_.wait(deadline) > 0; }
    unsigned look() {
        if (std::exchange(ready_, false) || epoll_.look() > 0) more_ = inner_.poll() > 0;
        // The inner poller hands out its events in slices: `more_` asks for the next one without another edge.
        if (!more_) return 0;
        const unsigned events = this->queue.dispatch();
        more_ = events > 0;
        return events;
    }

  private:
    Carrier* carrier_ = nullptr;
    EpollSet epoll_;
    InnerPoller inner_;
    bool ready_ = false;  // block() found the inner descriptor or the wake-up readable
    bool more_ = false;   // the inner poller may have events that it has not handed out
};

}  // namespace weft::test
