// Each list of connections belongs to one loop; other threads post tasks to that loop. A loop that has ended has
// already closed its channels, so a task that it refuses is no loss.
#include "server_state.hpp"

#include <weft/pipeline/channel_events.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include <string_view>

namespace weft::detail {

namespace {

// Runs `task` on the loop. If the loop has ended, nothing runs, and promises in the task count as abandoned.
template <class Task>
void executeIfRunning(EventLoop& loop, Task task) noexcept {
    try {
        loop.execute(std::move(task));
    } catch (const SystemError&) {
    } catch (const std::exception& error) {
        log(LogLevel::error, {"a server could not notify an event loop: ", error.what()});
    }
}

// Each open listener holds a reference; a listener that an ending loop drops counts as closed.
struct OpenListeners {
    ~OpenListeners() { allClosed.setValue(); }
    Promise<void> allClosed;
};

// Visits a copy of the list, because a visit may close its channel, which changes the list.
template <class Children, class Visit>
void forEachOpen(const Children& children, Visit visit) noexcept {
    const std::vector<ChannelRef> open(children.open.begin(), children.open.end());
    for (const ChannelRef& child : open) visit(*child);
}

void notifyDrain(Channel& child) noexcept {
    child.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
}

std::vector<LateConnection::Fiber> fibersOf(Channel& channel) {
    std::vector<LateConnection::Fiber> fibers;
    channel.fibers().forEach([&](std::string_view name, TimePoint since) {
        fibers.push_back({std::string(name), since});
    });
    return fibers;
}

}  // namespace

ServerState::ServerState(LoopSet& workers, PipelineSetup child, const SocketAddress& requested)
    : child_(std::move(child)), requested_(requested) {
    for (std::size_t i = 0; i < workers.size(); ++i) children_.push_back(std::make_unique<Children>(workers.loop(i)));
}

bool ServerState::mayBind() const {
    std::lock_guard held(lock_);
    return bind_ == Bind::underWay;
}

// A listener that is added too late is kept for abandon() to close.
bool ServerState::addListener(ChannelRef listener) {
    std::lock_guard held(lock_);
    listeners.push_back(std::move(listener));
    return bind_ == Bind::underWay;
}

bool ServerState::finishBind() {
    std::lock_guard held(lock_);
    if (bind_ == Bind::underWay) bind_ = Bind::done;
    return bind_ == Bind::done;
}

SocketAddress ServerState::address() const {
    std::lock_guard held(lock_);
    return bind_ == Bind::done ? localAddress : requested_;
}

// B-1: handlers, then options, then registration. The initializer runs on the child's own loop.
void ServerState::adopt(ChannelRef child) {
    child->pipeline().addLast([self = shared_from_this()](Channel& channel) {
        self->admit(channel);
        self->child_.fill(channel);
    });
    child_.applyOptions(*child);
    child->registerWithLoop({});  // a failure closes the channel and is logged
}

void ServerState::admit(Channel& child) {
    Children& children = *children_[child.loop().carrier()->index()];
    const auto place = children.open.insert(children.open.end(), ChannelRef(child));
    children.live.fetch_add(1, std::memory_order_relaxed);  // relaxed: approximate
    // Weak, because a child whose handlers prevent every close must not keep alive the server that holds it.
    child.closeFuture().addListener([weak = weak_from_this(), &children, place](const ChannelFuture&) {
        if (const auto self = weak.lock()) remove(children, place);
    });
    if (!children.draining) return;
    child.loop().execute([channel = ChannelRef(child)] { notifyDrain(*channel); });  // once its handlers are in place
}

void ServerState::remove(Children& children, std::list<ChannelRef>::iterator child) noexcept {
    children.open.erase(child);
    children.live.fetch_sub(1, std::memory_order_relaxed);  // relaxed: approximate
    if (!children.open.empty()) return;
    for (auto& promise : std::exchange(children.whenEmpty, {})) promise.setValue();
}

std::size_t ServerState::liveChildren() const noexcept {
    std::size_t live = 0;
    for (std::size_t loop = 0; loop < loops(); ++loop) live += liveChildren(loop);
    return live;
}

std::size_t ServerState::liveChildren(std::size_t loop) const noexcept {
    return children_[loop]->live.load(std::memory_order_relaxed);  // relaxed: approximate
}

Future<void> ServerState::closeListeners() {
    const auto open = std::make_shared<OpenListeners>();
    std::unique_lock held(lock_);
    const std::vector<ChannelRef> listenersNow = listeners;
    held.unlock();
    for (const auto& listener : listenersNow) {
        executeIfRunning(listener->loop(), [listener, open] {
            listener->closeFuture().addListener([open](const ChannelFuture&) {});
            // Clients that have already connected are served; closing the listener would reset them.
            if (listener->open() && listener->sink() != nullptr) listener->sink()->acceptWaiting();
            listener->close();
        });
    }
    return open->allClosed.future();
}

// A connection that is still on the way from the listener's loop is notified when it arrives. So none is missed, and
// nothing waits for a loop that does not respond.
Future<void> ServerState::startDrain() {
    std::unique_lock held(lock_);
    if (bind_ == Bind::underWay) bind_ = Bind::drained;
    const bool noServer = bind_ != Bind::done;  // and never will be
    held.unlock();
    Future<void> listenersClosed = closeListeners();
    if (noServer) listenersClosed = bindFailed_.future();  // completes later
    for (auto& children : children_) {
        executeIfRunning(children->loop, [self = shared_from_this(), &children = *children] {
            children.draining = true;
            forEachOpen(children, notifyDrain);
        });
    }
    return listenersClosed;
}

Future<void> ServerState::whenEmptied(std::size_t loop) {
    Children& children = *children_[loop];
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

Future<std::vector<LateConnection>> ServerState::cancelAll(std::size_t loop) {
    Promise<std::vector<LateConnection>> promise;
    auto future = promise.future();
    executeIfRunning(children_[loop]->loop,
                     [self = shared_from_this(), &children = *children_[loop], promise = std::move(promise)]() mutable {
                         std::vector<LateConnection> late;
                         for (const ChannelRef& child : children.open) {
                             late.push_back({child, child->remoteAddress(), fibersOf(*child)});
                             child->fibers().cancel();
                         }
                         promise.setValue(std::move(late));
                     });
    return future;
}

void ServerState::closeAll(std::size_t loop) noexcept {
    executeIfRunning(children_[loop]->loop, [self = shared_from_this(), &children = *children_[loop]] {
        forEachOpen(children, [](Channel& child) { child.close(); });
    });
}

Future<std::vector<LateConnection>> ServerState::findUnfinished(std::size_t loop,
                                                                std::vector<LateConnection> connections) {
    Promise<std::vector<LateConnection>> promise;
    auto future = promise.future();
    executeIfRunning(children_[loop]->loop, [late = std::move(connections), promise = std::move(promise)]() mutable {
        std::erase_if(late, [](const LateConnection& one) { return one.channel->fibers().empty(); });
        for (LateConnection& one : late) one.fibers = fibersOf(*one.channel);
        promise.setValue(std::move(late));
    });
    return future;
}

void ServerState::abandon() noexcept {
    const Future<void> closed = closeListeners();
    std::unique_lock held(lock_);
    listeners.clear();  // an unregistered listener still holds references to this server
    const bool drained = std::exchange(bind_, Bind::failed) == Bind::drained;
    held.unlock();
    if (!drained) {
        for (std::size_t loop = 0; loop < loops(); ++loop) closeAll(loop);
    }
    closed.addListener([self = shared_from_this()](const Future<void>&) { self->bindFailed_.setValue(); });
}

}  // namespace weft::detail
