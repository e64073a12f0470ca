// Reactor: Asio's epoll reactor, adapted to sleep by the carrier's sleep protocol. Asio waits for events and calls
// their handlers in one call, so this is the one place between the blocking system call and the first handler. See
// docs/adr/0017.
#pragma once

#include <stdexcept>
#include <utility>

#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/poll_guard.hpp>

#include "reactor_turn.hpp"

namespace weft::asio_io::detail {

// Installed in an io_context under the identity of Asio's own reactor, before Asio creates that. Owned by the
// io_context. Context: the carrier, except for functions that Asio calls from other threads.
class Reactor final : public AsioReactor {
  public:
    // A turn of the loop, inside which Asio runs.
    class Turn {
      public:
        // Called when Asio has nothing to call. Returns the guard under which to wait for events, or null.
        virtual PollGuard* guardToSleep() noexcept = 0;
        // Whether to look for events in a turn that does not sleep.
        virtual bool wantsLook() const noexcept = 0;
        // Nothing was found: Asio returns from AsioThread::runOne() without having called a handler.
        virtual void gaveUp() noexcept = 0;

      protected:
        ~Turn() = default;
    };

    // `thread`: the turns' state of Asio.
    Reactor(boost::asio::execution_context& context, EventLoop& loop, AsioThread& thread)
        : AsioReactor(context),
          scheduler_(boost::asio::use_service<AsioScheduler>(context)),
          loop_(loop),
          thread_(thread),
          return_(scheduler_, loop) {}

    // The carrier may run Asio only while a turn is set.
    void setTurn(Turn* turn) noexcept { turn_ = turn; }
    // True once for each time runOne() has returned without having called a handler.
    bool takeReturned() noexcept { return return_.take(); }
    // Ends the sleep, or the next one unless the kernel is polled before. Each sleep of the carrier has at most one
    // waker [K1], so this is at most one system call for each. Context: any thread.
    void wake() noexcept { interrupt(); }

    // Whether there has been a look at the kernel's events since the last call, also at those of the watches.
    bool takeLooked() noexcept { return std::exchange(looked_, false); }
    // Whether Asio asks for events, as far as noteAsked() has seen. Until then the watches are not looked at.
    bool isAsked() const noexcept { return asked_; }
    void noteAsked() noexcept {
        if (!asked_) asked_ = thread_.asksReactor();
    }

    // A descriptor that the reactor watches for its own carrier, edge-triggered. It is invisible to Asio's users: no
    // handler, no work, nothing that run() counts.
    class Watch {
      public:
        Watch() = default;
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

        // True once for each time it has become readable.
        bool takeReadable() noexcept { return std::exchange(readable_, false); }

      private:
        friend class Reactor;
        int fd_ = -1;
        bool readable_ = false;
        per_descriptor_data state_ = nullptr;
    };
    // Throws SystemError. The descriptor must stay open until unwatchAll().
    void watch(Watch& watch, int fd) {
        const int error = register_descriptor(fd, watch.state_);
        if (error != 0) throw SystemError(fromErrno(error), "epoll_ctl: adding a descriptor to Asio's reactor");
        watch.fd_ = fd;
        watches_[watchCount_++] = &watch;
    }
    void unwatchAll() noexcept {
        for (unsigned i = std::exchange(watchCount_, 0); i-- > 0;) {
            deregister_descriptor(watches_[i]->fd_, watches_[i]->state_, false);
            cleanup_descriptor_data(watches_[i]->state_);
        }
    }

    void run(long microseconds, AsioOperations& found) override {
        if (EventLoop::current() != &loop_ || turn_ == nullptr || !thread_.isCurrent()) throw std::logic_error(notHere);
        Host host{*this, *turn_, microseconds, found};
        ReactorTurn(host).run(microseconds != 0);
    }

  private:
    // The host of ReactorTurn.
    struct Host {
        bool maySleep() noexcept { return (guard = turn.guardToSleep()) != nullptr; }
        bool enter() noexcept { return guard->enter(); }
        void leave() noexcept { guard->leave(); }
        void wait() noexcept { reactor.look(microseconds, found); }
        void look() noexcept { reactor.look(0, found); }
        bool wantsLook() const noexcept { return turn.wantsLook(); }
        bool nothingFound() const noexcept { return found.empty(); }
        void endTurn() noexcept {
            turn.gaveUp();
            found.push(&reactor.return_);
        }

        Reactor& reactor;
        Turn& turn;
        const long microseconds;
        AsioOperations& found;
        PollGuard* guard = nullptr;
    };

    // Makes runOne() return when it has no handler to call.
    class Return final : public OwnOperation {
      public:
        Return(AsioScheduler& scheduler, const EventLoop& loop) noexcept : scheduler_(scheduler), loop_(loop) {}
        bool take() noexcept { return std::exchange(returned_, false); }

      private:
        void called() override {
            scheduler_.compensating_work_started();  // because the scheduler subtracts a unit for each operation
            if (EventLoop::current() == &loop_) returned_ = true;  // else a thread has taken it, against the contract
        }
        void dropped() noexcept override {}

        AsioScheduler& scheduler_;
        const EventLoop& loop_;
        bool returned_ = false;
    };

    static constexpr const char* notHere =
        "io_context::run() of a weft::asio_io::Context: its carrier runs it; call Context::run() (through the type "
        "Context, not io_context&) outside its handlers, or run() of a plain io_context";

    void look(long microseconds, AsioOperations& found) noexcept {
        looked_ = true;
        AsioReactor::run(microseconds, found);
        for (unsigned i = 0; i < watchCount_; ++i) {
            // A C-style cast, because the reactor's own class hides its base.
            auto* const operation = (AsioOperation*)watches_[i]->state_;  // NOLINT
            if (!found.is_enqueued(operation)) continue;
            remove(*operation, found);
            watches_[i]->readable_ = true;
        }
    }
    static void remove(const AsioOperation& operation, AsioOperations& from) noexcept {
        AsioOperations others;
        while (AsioOperation* const first = from.front()) {
            from.pop();
            if (first != &operation) others.push(first);
        }
        from.push(others);
    }

    AsioScheduler& scheduler_;
    EventLoop& loop_;
    AsioThread& thread_;
    Turn* turn_ = nullptr;
    bool looked_ = false;
    bool asked_ = false;
    Return return_;
    Watch* watches_[2] = {};
    unsigned watchCount_ = 0;
};

}  // namespace weft::asio_io::detail
