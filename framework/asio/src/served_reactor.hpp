// ServedReactor: Asio's epoll reactor, which sleeps only as the carrier's protocol of sleep allows. Asio asks a reactor
// for the kernel's events and calls their handlers after that, so this is the one place between the blocking system
// call and the first handler. docs/adr/0017.
#pragma once

#include <stdexcept>
#include <utility>

#include <boost/asio/detail/epoll_reactor.hpp>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/io_handler.hpp>

#include "context_turn.hpp"

namespace weft::asio_io::detail {

// Installed in an io_context under the name of Asio's own reactor, before that has made one. Owned by the io_context.
// Context: the carrier, but for what Asio calls from other threads.
class ServedReactor final : public boost::asio::detail::epoll_reactor {
    using Operations = boost::asio::detail::op_queue<boost::asio::detail::scheduler_operation>;

  public:
    ServedReactor(boost::asio::execution_context& context, EventLoop& loop) : epoll_reactor(context), loop_(loop) {}

    // A descriptor that the reactor watches for its own carrier, edge-triggered, at no cost to Asio's users: no
    // handler, no work, nothing that run() counts.
    class Watch {
      public:
        Watch() = default;
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

        // True once for each time it has become readable.
        bool takeReadable() noexcept { return std::exchange(readable_, false); }

      private:
        friend class ServedReactor;
        int fd_ = -1;
        bool readable_ = false;
        per_descriptor_data state_ = nullptr;
    };
    // Throws SystemError. The descriptor must stay open until unwatch().
    void watch(Watch& watch, int fd) {
        const int error = register_descriptor(fd, watch.state_);
        if (error != 0) throw SystemError(fromErrno(error), "epoll_ctl: a descriptor under Asio");
        watch.fd_ = fd;
        watches_[watchCount_++] = &watch;
    }
    void unwatchAll() noexcept {
        for (unsigned i = std::exchange(watchCount_, 0); i-- > 0;) {
            deregister_descriptor(watches_[i]->fd_, watches_[i]->state_, false);
            cleanup_descriptor_data(watches_[i]->state_);
        }
    }

    // One blocking io_context::run_one() of the carrier: `guard` has been entered. `giveUp()` makes run_one() return
    // when there is nothing for it to call and it may not sleep again.
    struct Sleep {
        PollGuard& guard;
        void (*giveUp)(void*) noexcept;
        void* who;
        bool entered = true;
    };
    void setSleep(Sleep* sleep) noexcept { sleep_ = sleep; }

    void run(long microseconds, Operations& ready) override {
        if (EventLoop::current() != &loop_ || (microseconds != 0 && sleep_ == nullptr)) throw std::logic_error(notHere);
        if (sleep_ == nullptr) return look(ready);
        Turn turn{*this, *sleep_, microseconds, ready};
        ReactorTurn(turn).run(microseconds != 0);
    }

  private:
    // What ReactorTurn asks for.
    struct Turn {
        bool entered() const noexcept { return sleep.entered; }
        bool enter() noexcept { return sleep.entered = sleep.guard.enter(); }
        void leave() noexcept {
            sleep.guard.leave();
            sleep.entered = false;
        }
        void wait() { reactor.epoll_reactor::run(microseconds, ready); }
        void look() { reactor.epoll_reactor::run(0, ready); }
        bool takeOwn() noexcept { return reactor.takeOwn(ready); }
        bool nothingReady() const noexcept { return ready.empty(); }
        void giveUp() noexcept { sleep.giveUp(sleep.who); }

        ServedReactor& reactor;
        Sleep& sleep;
        const long microseconds;
        Operations& ready;
    };

    static constexpr const char* notHere =
        "io_context::run() of a weft::asio_io::Context: its carrier runs it; call Context::run() (through the type "
        "Context, not io_context&), or run() of a plain io_context";

    void look(Operations& ready) {
        epoll_reactor::run(0, ready);
        takeOwn(ready);
    }
    bool takeOwn(Operations& ready) noexcept {
        bool found = false;
        for (unsigned i = 0; i < watchCount_; ++i) {
            // The reactor's own class hides its base.
            auto* const operation = (boost::asio::detail::scheduler_operation*)watches_[i]->state_;  // NOLINT
            if (!ready.is_enqueued(operation)) continue;
            remove(*operation, ready);
            watches_[i]->readable_ = found = true;
        }
        return found;
    }
    static void remove(const boost::asio::detail::scheduler_operation& operation, Operations& ready) noexcept {
        Operations others;
        while (boost::asio::detail::scheduler_operation* first = ready.front()) {
            ready.pop();
            if (first != &operation) others.push(first);
        }
        ready.push(others);
    }

    EventLoop& loop_;
    Sleep* sleep_ = nullptr;
    Watch* watches_[2] = {};
    unsigned watchCount_ = 0;
};

}  // namespace weft::asio_io::detail
