#include "service.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/suspension.hpp>

#include "service_in_loop.hpp"

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

Service::Service(boost::asio::io_context& context, EventLoop& loop, bool forLife)
    : context_(context),
      loop_(loop),
      keptLoop_(loop.weak_from_this().lock()),
      scheduler_(boost::asio::use_service<AsioScheduler>(context)),
      thread_(scheduler_),
      forLife_(forLife),
      remoteOperations_(std::make_shared<RemoteOperations>(loop)) {
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
        auto reactor = std::make_unique<Reactor>(context_, loop_, thread_);
        boost::asio::add_service<AsioReactor>(context_, reactor.get());
        reactor_ = reactor.release();
        mark();
        noteExits();
        reactor_->watch(wrappedWatch_, handler->wrapped().pollFd());
        timer_.emplace(*reactor_);
    } catch (...) {
        unmark(false);
        handler->forget(*this);
        throw;
    }
    handler_ = handler;
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

// A context without any work stops at once, as in io_context::run().
void Service::open(const std::shared_ptr<Runner>& runner) noexcept {
    try {
        if (closing()) throw aborted("asio_io::Context::run: its event loop has ended");
        scheduler_.work_started();
        scheduler_.work_finished();
        if (context_.stopped()) return runner->releaseWaiters();
        runners_.add(runner);
        beginServing();
    } catch (...) {
        runner->error = std::current_exception();
        return runner->releaseWaiters();
    }
    if (runners_.size() > 1 && !std::exchange(severalNoted_, true)) {
        log(LogLevel::info,
            {"several threads run an asio_io::Context: all handlers run on its carrier ", loop_.carrier()->name()});
    }
}

void Service::end(const Runner& runner) noexcept {
    runners_.end(runner);
    closeIfUnused();
    releaseRunners();
}

void Service::noteRestart() {
    if (!forLife_) return;
    try {
        loop_.execute([this] {
            if (!closing() && !context_.stopped()) beginServing();
        });
    } catch (const SystemError&) {
        // The loop has ended.
    }
}

void Service::beginServing() noexcept {
    if (std::exchange(runs_, true)) return;
    if (forLife_ && !std::exchange(holdsWork_, true)) scheduler_.work_started();
    mayHaveEvents_ = mayBeReadable_ = true;  // until now the handler ran without the service
    handler_->wakeInAsio(true);
}

void Service::closeIfUnused() noexcept {
    if (!serving() || !runners_.empty()) return;
    if (!ended_ && (closing() ? operationsLeft() : forLife_ && !context_.stopped())) return;
    runs_ = false;
    handler_->wakeInAsio(false);
}

// Their callers return after releaseRunners().
void Service::leaveAll(const std::exception_ptr& error) noexcept {
    runners_.endAll(error);
    if (closing() && !ended_ && operationsLeft()) {
        context_.restart();
        beginServing();
    } else {
        closeIfUnused();
    }
}

// The oldest caller throws it.
void Service::deliver(const std::exception_ptr& error) noexcept {
    if (!runners_.fail(error)) {
        log(LogLevel::error,
            {"a handler of an asio_io::Context threw while no run() was active to rethrow it, on carrier ",
             loop_.carrier()->name(), ": ", textOf(error)});
    }
    closeIfUnused();
}

}  // namespace weft::asio_io::detail
