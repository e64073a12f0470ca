// Every list of connections belongs to one loop; other threads ask that loop. A loop that has ended has closed its
// channels already, so asking it for nothing is no loss.
#include "server_state.hpp"

#include <string>

#include <weft/framework/server.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::detail {

namespace {

constexpr Duration closingTime = std::chrono::seconds(1);  // for the closes after a drain's timeout, which wait for nobody

// Runs `task` on the loop; when the loop has ended, nothing runs and promises in the task count as abandoned.
template <class Task>
void executeIfRunning(EventLoop& loop, Task task) noexcept {
    try {
        loop.execute(std::move(task));
    } catch (const std::exception&) {
    }
}

// Held for each listener that is still open; what a loop drops at its end counts as closed.
struct OpenListeners {
    ~OpenListeners() { allClosed.setValue(); }
    Promise<void> allClosed;
};

}  // namespace

ServerState::ServerState(LoopSet& workers, PipelineSetup child) : child_(std::move(child)) {
    for (std::size_t i = 0; i < workers.size(); ++i) children_.push_back(std::make_unique<Children>(workers.loop(i)));
}

// B-1: handlers, options, registration. The initializer runs on the child's own loop.
void ServerState::adopt(ChannelRef child) {
    child->pipeline().addLast([self = shared_from_this()](Channel& channel) {
        self->admit(channel);
        self->child_.fill(channel);
    });
    child_.applyOptions(*child);
    child->registerWithLoop();  // a failure closes the channel by itself
}

void ServerState::admit(Channel& child) {
    Children& children = *children_[child.loop().carrier()->index()];
    const auto place = children.open.insert(children.open.end(), ChannelRef(child));
    children.live.fetch_add(1, std::memory_order_relaxed);  // a figure
    child.closeFuture().addListener(
        [self = shared_from_this(), &children, place](const ChannelFuture&) { remove(children, place); });
}

void ServerState::remove(Children& children, std::list<ChannelRef>::iterator child) noexcept {
    children.open.erase(child);
    children.live.fetch_sub(1, std::memory_order_relaxed);  // a figure
    if (!children.open.empty()) return;
    for (auto& promise : std::exchange(children.whenEmpty, {})) promise.setValue();
}

std::size_t ServerState::liveChildren() const noexcept {
    std::size_t live = 0;
    for (const auto& children : children_) live += children->live.load(std::memory_order_relaxed);  // a figure
    return live;
}

Future<void> ServerState::closeListeners() {
    const auto open = std::make_shared<OpenListeners>();
    for (auto& listener : listeners) {
        executeIfRunning(listener->loop(), [listener, open] {
            listener->closeFuture().addListener([open](const ChannelFuture&) {});
            listener->close();
        });
    }
    return open->allClosed.future();
}

// No connection comes after the listeners' close, and those that came before are registered by tasks that are ahead of
// the ones that tell of the drain: nobody is missed.
ServerState::Drain ServerState::startDrain() {
    closeListeners().await();
    Drain drain;
    for (auto& children : children_) {
        drain.push_back(emptied(*children));
        executeIfRunning(children->loop, [self = shared_from_this(), &children = *children] { fireDrainStarted(children); });
    }
    return drain;
}

Future<void> ServerState::emptied(Children& children) {
    Promise<void> promise;
    Future<void> future = promise.future();
    executeIfRunning(children.loop, [self = shared_from_this(), &children, promise = std::move(promise)]() mutable {
        if (children.open.empty()) {
            promise.setValue();
        } else {
            children.whenEmpty.push_back(std::move(promise));
        }
    });
    return future;
}

// An event may close its channel, which changes the list.
void ServerState::fireDrainStarted(Children& children) noexcept {
    const std::vector<ChannelRef> now(children.open.begin(), children.open.end());
    for (const auto& child : now) child->pipeline().fireUserEventTriggered(Message(DrainStarted{}));
}

std::size_t ServerState::closeAll(Children& children) noexcept {
    const std::vector<ChannelRef> now(children.open.begin(), children.open.end());
    for (const auto& child : now) child->close();
    return now.size();
}

std::size_t ServerState::finishDrain(const Drain& drain, Deadline deadline, Duration timeout) {
    std::size_t late = 0;
    for (std::size_t i = 0; i < drain.size(); ++i) {
        if (drain[i].awaitUntil(deadline)) continue;
        Promise<std::size_t> closed;
        const Future<std::size_t> count = closed.future();
        executeIfRunning(children_[i]->loop,
                         [self = shared_from_this(), &children = *children_[i], closed = std::move(closed)]() mutable {
                             closed.setValue(closeAll(children));
                         });
        count.await();
        if (!count.error()) late += count.get();
        drain[i].awaitUntil(Clock::steady().now() + closingTime);
    }
    if (late > 0) {
        const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
        log(LogLevel::warning, "drain of " + localAddress.toString() + ": " + std::to_string(late) +
                                   " connection(s) had not ended after " + std::to_string(waited) +
                                   " ms and were closed");
    }
    return late;
}

void ServerState::abandon() noexcept {
    closeListeners();
    listeners.clear();  // one that was never registered still holds what refers to this server
    for (auto& children : children_) {
        executeIfRunning(children->loop, [self = shared_from_this(), &children = *children] { closeAll(children); });
    }
}

}  // namespace weft::detail
