#include <weft/framework/event_loop_group.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "loop_set.hpp"
#include "server_drain.hpp"
#include "server_state.hpp"

namespace weft {

namespace {

// The option, else the variable, else automatic (DEC-8). An empty variable counts as unset.
Transport::Kind resolved(std::optional<Transport::Kind> transport) {
    if (transport) return *transport;
    const char* value = std::getenv("WEFT_TRANSPORT");
    if (value == nullptr || *value == '\0') return Transport::Kind::automatic;
    return Transport::parse(value, "WEFT_TRANSPORT");
}

std::unique_ptr<IoHandler> wrap(const IoHandlerWrapper& wrapper, std::unique_ptr<SocketIoHandler> builtIn) {
    std::unique_ptr<IoHandler> handler = wrapper(std::move(builtIn));
    if (!handler) {
        throw std::invalid_argument(
            "EventLoopGroupOptions::ioHandler returned null; it must return the handler that it "
            "is given, or a handler that wraps it");
    }
    if (!SocketIoHandler::in(*handler)) {
        throw std::invalid_argument(
            "EventLoopGroupOptions::ioHandler returned a handler without sockets; derive it from "
            "IoHandlerDecorator, and construct that with the handler that the function is given");
    }
    return handler;
}

detail::IoHandlerMaker makerOf(const IoHandlerWrapper& wrapper) {
    return [wrapper](Transport::Kind transport) -> std::unique_ptr<IoHandler> {
        auto builtIn = Transport::makeIoHandler(transport);
        return wrapper ? wrap(wrapper, std::move(builtIn)) : std::move(builtIn);
    };
}

// In a forked process the loops' threads do not exist, so the loops cannot end, and nothing that they use may be freed.
void abandon(std::shared_ptr<detail::LoopSet>&& loops) {
    static auto* const abandoned = new std::vector<std::shared_ptr<detail::LoopSet>>;
    abandoned->push_back(std::move(loops));
}

}  // namespace

EventLoopGroup::EventLoopGroup(const EventLoopGroupOptions& options, detail::ThisBuild) {
    const Transport::Kind transport = resolved(options.transport);  // before any thread starts
    own_ = std::make_unique<CarrierGroup>(static_cast<const CarrierOptions&>(options));
    carriers_ = own_.get();
    loops_ = detail::LoopSet::join(*carriers_, transport, makerOf(options.ioHandler), options.loop);
}

EventLoopGroup::EventLoopGroup(CarrierGroup& carriers, std::optional<Transport::Kind> transport,
                               const EventLoop::Options& loop, const IoHandlerWrapper& ioHandler)
    : loops_(detail::LoopSet::join(carriers, resolved(transport), makerOf(ioHandler), loop)), carriers_(&carriers) {}

EventLoopGroup::~EventLoopGroup() {
    if (carriers_->forked()) {
        abandon(std::move(loops_));
        return;
    }
    while (!shutdown(std::chrono::seconds(5))) {
    }
}

Transport::Kind EventLoopGroup::transport() const noexcept {
    return loops_->transport();
}

std::size_t EventLoopGroup::size() const noexcept {
    return loops_->size();
}

EventLoop& EventLoopGroup::loop(std::size_t index) {
    return loops_->loop(index);
}

EventLoop& EventLoopGroup::next() noexcept {
    return loops_->next();
}

std::size_t EventLoopGroup::drain(Duration timeout) {
    if (carriers_->forked()) return 0;
    return detail::drainServers(loops_->servers(), deadlineAfter(timeout), timeout);
}

// The loops outlive the carriers' fibers, which may hold channels. The group's destructor frees the loops.
bool EventLoopGroup::shutdown(Duration timeout) {
    if (carriers_->forked()) return carriers_->shutdown(timeout);
    const Deadline deadline = deadlineAfter(timeout);
    std::unique_lock held(lock_);
    const bool last = leaveOnce();
    held.unlock();
    if (last && !loops_->stop(deadline)) return false;  // not the last share: another group keeps the loops running
    if (!own_) return true;
    return own_->shutdown(deadline == never ? timeout : std::max<Duration>(deadline - Clock::current().now(), {}));
}

// Returns true if this group had the last share of the loops. The caller holds the lock.
bool EventLoopGroup::leaveOnce() noexcept {
    if (!std::exchange(hasLeftLoops_, true)) hadLastShare_ = loops_->leave();
    return hadLastShare_;
}

Future<void> EventLoopGroup::shutdownGracefully(Duration quiet, Duration timeout) {
    const std::lock_guard held(lock_);
    if (gracefulEnd_) return *gracefulEnd_;
    EventLoop::checkGracefulTimes(quiet, timeout);
    if (carriers_->forked() || !leaveOnce()) {
        Promise<void> atOnce;
        atOnce.setValue();
        gracefulEnd_ = atOnce.future();
    } else {
        // Runs on a carrier's thread, which the group joins before it is destroyed.
        gracefulEnd_ = loops_->shutdownGracefully(quiet, timeout, [carriers = own_.get()] {
            if (carriers != nullptr) carriers->beginShutdown();
        });
    }
    return *gracefulEnd_;
}

}  // namespace weft
