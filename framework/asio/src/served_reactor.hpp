// ServedReactor: Asio's epoll reactor, adapted to sleep by the carrier's sleep protocol and to call the handlers of
// what it finds. Asio asks a reactor for the kernel's events and calls their handlers only afterwards, so this is the
// one place between the blocking system call and the first handler. See docs/adr/0017.
#pragma once

#include <stdexcept>
#include <utility>

#include <boost/asio/detail/epoll_reactor.hpp>

#include <weft/asio_io/detail/asio_thread.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/io_handler.hpp>

#include "context_turn.hpp"
#include "return_operation.hpp"

namespace weft::asio_io::detail {

// Installed in an io_context under the identity of Asio's own reactor, before Asio creates that. Owned by the
// io_context. Context: the carrier, except for functions that Asio calls from other threads.
class ServedReactor final : public boost::asio::detail::epoll_reactor {
  public:
    // A turn of the loop, inside which Asio runs. For the turn, the reactor calls many ready handlers within one
    // poll_one() or run_one(), because each of those costs as much as a short handler.
    class Caller {
      public:
        enum class Next { call, later, leave };
        // Whether another handler may be called. later: not in this turn. leave: not by Asio either, see Left.
        virtual Next next() noexcept = 0;
        virtual void call(const ReadyOperation& operation) noexcept = 0;
        // True when no caller of run() has a limit, so that many handlers may be called.
        virtual bool callsMany() const noexcept = 0;
        virtual void returned() noexcept = 0;  // called by the reactor's own operation, which is no handler

      protected:
        ~Caller() = default;
    };
    // Thrown to leave poll_one() or run_one() when Asio would call another handler although the context no longer runs.
    struct Left {};

    ServedReactor(boost::asio::execution_context& context, EventLoop& loop)
        : epoll_reactor(context),
          scheduler_(boost::asio::use_service<AsioScheduler>(context)),
          loop_(loop),
          thread_(scheduler_),
          return_(&ServedReactor::returned, this) {}

    // The carrier may run Asio only while a caller is set.
    void setCaller(Caller* caller) noexcept { caller_ = caller; }

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
        friend class ServedReactor;
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

    // One blocking io_context::run_one() of the carrier. `guard` has been entered.
    struct Sleep {
        PollGuard& guard;
        bool entered = true;
    };
    void setSleep(Sleep* sleep) noexcept { sleep_ = sleep; }

    void run(long microseconds, AsioOperations& asios) override {
        if (EventLoop::current() != &loop_ || caller_ == nullptr || (microseconds != 0 && sleep_ == nullptr))
            throw std::logic_error(notHere);
        if (sleep_ != nullptr) {
            Turn turn{*this, *sleep_, microseconds, asios};
            return ReactorTurn(turn).run(microseconds != 0);
        }
        look();
        takeOwn();
        callReady(asios);
    }
    void shutdown() override {
        while (AsioOperation* const operation = take()) operation->destroy();
        epoll_reactor::shutdown();
    }

  private:
    // The host of ReactorTurn.
    struct Turn {
        bool entered() const noexcept { return sleep.entered; }
        bool enter() noexcept { return sleep.entered = sleep.guard.enter(); }
        void leave() noexcept {
            sleep.guard.leave();
            sleep.entered = false;
        }
        void wait() { reactor.look(microseconds); }
        void look() { reactor.look(); }
        bool takeOwn() noexcept { return reactor.takeOwn(); }
        bool callReady() { return reactor.callReady(asios); }
        bool nothingForAsio() const noexcept { return asios.empty(); }
        void giveUp() noexcept { reactor.giveUp(asios); }

        ServedReactor& reactor;
        Sleep& sleep;
        const long microseconds;
        AsioOperations& asios;
    };

    static constexpr const char* notHere =
        "io_context::run() of a weft::asio_io::Context: its carrier runs it; call Context::run() (through the type "
        "Context, not io_context&), or run() of a plain io_context";

    // Polls only after all events of the last poll have been used. Posted operations, which may keep coming, do not
    // delay it.
    void look(long microseconds = 0) {
        if (!found_.empty()) return;
        found_.push(posted_);
        epoll_reactor::run(found_.empty() ? microseconds : 0, found_);
    }
    // Uses an AsioThread that persists, for the handlers' memory and for what they post; Asio makes a new one in each
    // poll_one().
    bool callReady(AsioOperations& asios) {
        if (!caller_->callsMany()) {
            asios.push(found_);
            asios.push(posted_);
            return false;
        }
        const AsioThread::Use here(thread_);
        ReadyCalls calls(scheduler_);
        Caller::Next next;
        while ((next = caller_->next()) == Caller::Next::call) {
            AsioOperation* const operation = take();
            if (operation == nullptr) break;
            caller_->call(calls.next(*operation));
            posted_.push(thread_.posted());
        }
        if (calls.any() && next == Caller::Next::leave) throw Left();
        return calls.any();
    }
    AsioOperation* take() noexcept {
        AsioOperations& from = found_.empty() ? posted_ : found_;
        AsioOperation* const first = from.front();
        if (first != nullptr) from.pop();
        return first;
    }
    void giveUp(AsioOperations& asios) noexcept {
        if (return_.pushTo(asios)) scheduler_.compensating_work_started();
    }
    static void returned(void* who) noexcept {
        auto& self = *static_cast<ServedReactor*>(who);
        // Without a caller, a fiber of the carrier runs the io_context, against the contract.
        if (self.loop_.inEventLoop() && self.caller_ != nullptr) self.caller_->returned();
    }

    bool takeOwn() noexcept {
        bool found = false;
        for (unsigned i = 0; i < watchCount_; ++i) {
            // A C-style cast, because the reactor's own class hides its base.
            auto* const operation = (AsioOperation*)watches_[i]->state_;  // NOLINT
            if (!found_.is_enqueued(operation)) continue;
            remove(*operation);
            watches_[i]->readable_ = found = true;
        }
        return found;
    }
    void remove(const AsioOperation& operation) noexcept {
        AsioOperations others;
        while (AsioOperation* const first = found_.front()) {
            found_.pop();
            if (first != &operation) others.push(first);
        }
        found_.push(others);
    }

    AsioScheduler& scheduler_;
    EventLoop& loop_;
    AsioThread thread_;
    Caller* caller_ = nullptr;
    Sleep* sleep_ = nullptr;
    AsioOperations found_;   // by the last poll, not called yet
    AsioOperations posted_;  // by handlers that the reactor has called
    ReturnOperation return_;
    Watch* watches_[2] = {};
    unsigned watchCount_ = 0;
};

}  // namespace weft::asio_io::detail
