#include "service.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::asio_io::detail {

namespace {

std::string_view textOf(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();  // valid as long as `error` is held
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

SystemError aborted(const char* what) {
    return SystemError(operationAborted(), what);
}

}  // namespace

// ---- attaching to the loop ----

Service::Service(ServedContext& context, EventLoop& loop, bool forLife)
    : context_(context), loop_(loop), forLife_(forLife), remoteOperations_(std::make_shared<RemoteOperations>(loop)) {
    if (!Suspension::allowed()) throw BlockingOperationException("asio_io::Context::Context");
    if (loop.carrier() == nullptr) {
        throw std::logic_error(
            "asio_io::Context: an embedded event loop has no carrier to run it; use a loop of an EventLoopGroup");
    }
    std::exception_ptr error;
    const bool ran = inLoop([&] {
        try {
            attach();
            if (forLife_) beginServing();
        } catch (...) {
            error = std::current_exception();
        }
    });
    if (error) std::rethrow_exception(error);
    if (!ran) throw aborted("asio_io::Context: its event loop has ended");
}

Service::~Service() {
    while (threads_ != nullptr) static_cast<void>(takeThread());
}

// Runs `block` as a task of the loop, and returns after it has run; false when the loop accepts no more tasks.
template <class Block>
bool Service::inLoop(Block block) {
    class Task final : public LoopTask {
      public:
        explicit Task(Block& its) : block_(its) {}
        void await() {
            waiters_.waitUninterruptibly(lock_, "asio_io::Context", [this] { return over_; });
        }
        bool ran = false;

      private:
        void run() noexcept override {
            block_();
            ran = true;
            end();
        }
        void abandon() noexcept override { end(); }
        void end() noexcept {
            waiters_.changeAndWakeAll(lock_, [this] { over_ = true; });
        }

        Block& block_;
        std::mutex lock_;
        WaitList waiters_;
        bool over_ = false;
    };
    Task task(block);
    if (!loop_.execute(task)) return false;
    task.await();
    return task.ran;
}

// After the first task nothing more is submitted; everything submitted earlier runs before the second.
bool Service::leave() noexcept {
    if (closing() && hasLoopEnded()) return true;  // its carrier may no longer exist
    if (loop_.carrier()->group().forked()) return false;
    WEFT_ASSERT(Suspension::allowed(),
                "an asio_io::Context is destroyed inside an event loop's dispatch: destroy it in a thread or a fiber");
    const bool detached = inLoop([this] {
        context_.closed_.store(true, std::memory_order_release);  // [A4]
        context_.functions().cancel();
        detach();
    });
    if (!detached || !inLoop([] {}) || !inLoop([this] { handler_->forget(*this); }))
        endWaiters_.waitUninterruptibly(endLock_, "asio_io::Context", [this] { return loopHasEnded_; });
    return true;
}

void Service::attach() {
    AsioIoHandler* const handler = AsioIoHandler::of(loop_);
    if (handler == nullptr) {
        throw std::logic_error("asio_io::Context: its event loop has no AsioIoHandler; make the EventLoopGroup with "
                               "EventLoopGroupOptions::ioHandler = asio_io::AsioIoHandler::wrap");
    }
    if (handler->wrapped().pollFd() < 0) {
        throw std::logic_error(
            "asio_io::Context: the handler inside the loop's AsioIoHandler has no pollFd(), so Asio cannot watch it");
    }
    handler->attach(*this);
    try {
        auto reactor = std::make_unique<ServedReactor>(context_, loop_);
        boost::asio::add_service<boost::asio::detail::epoll_reactor>(context_, reactor.get());
        reactor_ = reactor.release();
        reactor_->init_task();
        mark();
        reactor_->watch(wrappedWatch_, handler->wrapped().pollFd());
        timer_.emplace(*reactor_);
    } catch (...) {
        handler->forget(*this);
        throw;
    }
    handler_ = handler;
}

// Nothing of the service runs after this.
void Service::detach() noexcept {
    if (std::exchange(ended_, true)) return;
    forgetOperations();
    releaseAllRunners(std::make_exception_ptr(aborted("asio_io::Context::run: its event loop has ended")));
    reactor_->unwatchAll();
    handler_->wakeInAsio(false);
}

void Service::loopHasEnded() noexcept {
    context_.functions().cancel();  // after this, nothing that runs on the carrier could
    detach();
    context_.closed_.store(true, std::memory_order_release);  // [A4]
    handler_->forget(*this);
    endWaiters_.changeAndWakeAll(endLock_, [this] { loopHasEnded_ = true; });
}

bool Service::hasLoopEnded() noexcept {
    const std::lock_guard held(endLock_);
    return loopHasEnded_;
}

// ---- callers of run() ----

std::size_t Service::serve(std::size_t most, bool waits, Deadline deadline, const char* call) {
    if (!Suspension::allowed()) throw BlockingOperationException(call);
    if (closing()) throw aborted("asio_io::Context::run: its event loop has ended");
    if (loop_.carrier()->group().forked())
        throw aborted("asio_io::Context::run in a forked process, which has no carriers");
    const auto runner = std::make_shared<Runner>(most, waits);
    loop_.execute([this, runner] { open(runner); });
    const ErrorCode why = runner->awaitUntil(deadline, call);
    if (!why) return runner->result();
    try {
        loop_.execute([this, runner] { end(*runner); });
    } catch (const std::exception&) {
        // The loop has ended and releases all callers; or there is no memory, and the run ends by itself.
    }
    runner->awaitUninterruptibly(call);
    const std::size_t ran = runner->result();
    if (why != timedOut()) throw SystemError(why, call);
    return ran;
}

void Service::open(const std::shared_ptr<Runner>& runner) noexcept {
    try {
        if (closing()) throw aborted("asio_io::Context::run: its event loop has ended");
        if (context_.stopped()) return runner->releaseWaiters();
        runners_.add(runner);
    } catch (...) {
        runner->error = std::current_exception();
        return runner->releaseWaiters();
    }
    if (runners_.size() > 1 && !std::exchange(severalNoted_, true)) {
        log(LogLevel::info,
            {"several threads run an asio_io::Context: all handlers run on its carrier ", loop_.carrier()->name()});
    }
    beginServing();
}

void Service::end(const Runner& runner) noexcept {
    runners_.end(runner);
    closeIfUnused();
    runners_.releaseLeavingRunners();
}

void Service::noteRestart() noexcept {
    if (!forLife_) return;
    try {
        loop_.execute([this] { reopen(); });
    } catch (const std::exception&) {
        // The loop has ended.
    }
}

void Service::reopen() noexcept {
    if (!closing() && !context_.stopped()) beginServing();
}

void Service::beginServing() noexcept {
    if (serving()) return;
    context_.runs_ = true;
    holdWork();
    mayHaveEvents_ = mayBeReadable_ = true;  // until now the handler ran without the service
    handler_->wakeInAsio(true);
}

void Service::closeIfUnused() noexcept {
    if (!serving() || !runners_.empty()) return;
    if (!ended_ && (closing() ? operationsLeft() : forLife_ && !context_.stopped())) return;
    context_.runs_ = false;
    releaseWorkIfAllCounted();
    handler_->wakeInAsio(false);
}

void Service::releaseAllRunners(const std::exception_ptr& error) noexcept {
    runners_.endAll(error);
    if (closing() && !ended_ && operationsLeft()) {
        goOnToTheEnd();
    } else {
        closeIfUnused();
    }
    runners_.releaseLeavingRunners();
}

bool Service::stopConfirmed() noexcept {
    if (context_.stopped()) return true;
    // relaxed: publishes nothing. It may overwrite a later request, which the turn's check of stopped() still finds.
    stopRequested_.store(false, std::memory_order_relaxed);
    return false;
}

// ---- exceptions of handlers ----

void Service::capture(std::exception_ptr error) noexcept {
    if (captured_ == nullptr) {
        captured_ = std::move(error);
    } else {
        log(LogLevel::error,
            {"a handler of an asio_io::Context threw before an earlier exception was delivered: ", textOf(error)});
    }
}

void Service::fail(const std::exception_ptr& error) noexcept {
    deliver(error);
    runners_.releaseLeavingRunners();
}

void Service::deliver(const std::exception_ptr& error) noexcept {
    if (!runners_.fail(error)) {
        log(LogLevel::error,
            {"a handler of an asio_io::Context threw while no run() was active to rethrow it, on carrier ",
             loop_.carrier()->name(), ": ", textOf(error)});
    }
    closeIfUnused();
}

}  // namespace weft::asio_io::detail
