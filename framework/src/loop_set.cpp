#include "loop_set.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <weft/scheduler/log.hpp>

#include "server_state.hpp"

namespace weft::detail {

namespace {

std::mutex registryLock;
std::map<CarrierGroup*, std::weak_ptr<LoopSet>>& registry() {
    static std::map<CarrierGroup*, std::weak_ptr<LoopSet>> sets;
    return sets;
}

// Completes when the loop runs tasks, hence when its poller is open; fails if the loop has ended instead.
Future<void> firstTaskOf(EventLoop& loop) {
    Promise<void> promise;
    Future<void> running = promise.future();
    try {
        loop.execute([promise = std::move(promise)]() mutable { promise.setValue(); });
    } catch (const SystemError&) {
        // The loop has already ended, and the promise went with the task.
    }
    return running;
}

// The thrower's text, without the text of the code that SystemError appends.
std::string saidBy(const SystemError& refused) {
    std::string text = refused.what();
    const std::string ofCode = std::string(": ") + SystemError(refused.code()).what();
    if (text.ends_with(ofCode)) text.resize(text.size() - ofCode.size());
    return text;
}

[[noreturn]] void rethrowNaming(const Carrier& carrier, std::exception_ptr error) {
    try {
        std::rethrow_exception(std::move(error));
    } catch (const SystemError& refused) {
        throw SystemError(refused.code(),
                          "the event loop of carrier " + carrier.name() + " did not start: " + saidBy(refused));
    }
}

// Each loop that has not ended holds a reference.
struct RunningLoops {
    explicit RunningLoops(UniqueFunction<void()> whenNone) : whenEnded(std::move(whenNone)) {}
    ~RunningLoops() {
        whenEnded();
        allEnded.setValue();
    }
    UniqueFunction<void()> whenEnded;
    Promise<void> allEnded;
};

}  // namespace

std::shared_ptr<LoopSet> LoopSet::join(CarrierGroup& carriers, Transport::Kind transport,
                                       const IoHandlerMaker& makeIoHandler, const EventLoop::Options& options) {
    for (;;) {
        std::unique_lock held(registryLock);
        std::erase_if(registry(), [](const auto& entry) { return entry.second.expired(); });
        std::shared_ptr<LoopSet> set = registry()[&carriers].lock();
        if (set && set->tryShare()) return set;
        if (!set || set->hasEnded()) {
            set = make(carriers, transport, makeIoHandler, options);
            registry()[&carriers] = set;
            return set;
        }
        held.unlock();
        for (const auto& ended : set->ended_) ended.await();  // its last user has left and ends it
    }
}

bool LoopSet::hasEnded() const {
    return std::all_of(ended_.begin(), ended_.end(), [](const auto& ended) { return ended.done(); });
}

// False once the last user has left, who stops the loops. One RMW, because that user may leave at any time. relaxed:
// the registry's lock publishes the set.
bool LoopSet::tryShare() noexcept {
    unsigned users = users_.load(std::memory_order_relaxed);
    while (users != 0) {
        if (users_.compare_exchange_weak(users, users + 1, std::memory_order_relaxed)) return true;
    }
    return false;
}

std::shared_ptr<LoopSet> LoopSet::make(CarrierGroup& carriers, Transport::Kind transport,
                                       const IoHandlerMaker& makeIoHandler, const EventLoop::Options& options) {
    const bool chooses = transport == Transport::Kind::automatic;
    if (chooses) transport = Transport::best();
    try {
        return std::make_shared<LoopSet>(carriers, transport, makeIoHandler, options);
    } catch (const SystemError& refused) {
        const bool carriersEnd = refused.code() == operationAborted();
        if (!chooses || transport == Transport::Kind::epoll || carriersEnd) throw;
        log(LogLevel::warning, {"event loops use epoll instead of io_uring: ", refused.what()});
    }
    return std::make_shared<LoopSet>(carriers, Transport::Kind::epoll, makeIoHandler, options);
}

LoopSet::LoopSet(CarrierGroup& carriers, Transport::Kind transport, const IoHandlerMaker& makeIoHandler,
                 const EventLoop::Options& options)
    : carriers_(carriers), transport_(transport) {
    try {
        for (std::size_t i = 0; i < carriers.size(); ++i)
            startLoop(carriers.carrier(i), makeIoHandler(transport), options);
    } catch (...) {
        stop(never);
        throw;
    }
}

LoopSet::~LoopSet() {
    if (!hasEnded()) stop(never);
}

void LoopSet::startLoop(Carrier& carrier, std::unique_ptr<IoHandler> handler, const EventLoop::Options& options) {
    loops_.push_back(std::make_shared<EventLoop>(carrier, std::move(handler), options));
    EventLoop& loop = *loops_.back();
    ended_.reserve(ended_.size() + 1);  // a running loop must be awaited before it is destroyed
    ended_.push_back(loop.start());
    const Future<void> running = firstTaskOf(loop);
    running.await();
    if (!running.error()) return;
    ended_.back().await();
    rethrowNaming(carrier, ended_.back().error() ? ended_.back().error() : running.error());
}

EventLoop& LoopSet::next() noexcept {
    Carrier* here = Carrier::home();
    if (here != nullptr && &here->group() == &carriers_) return *loops_[here->index()];
    return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];  // any order will do
}

bool LoopSet::stop(Deadline deadline) {
    lookups_->close();
    const std::vector<Future<void>> closing = closeFeeders();
    for (std::size_t i = 0; i < ended_.size(); ++i) loops_[i]->stop();
    for (auto& ended : ended_) {
        if (ended.awaitUntil(deadline)) continue;
        nameStragglers();
        return false;
    }
    for (auto& closed : closing) {
        if (closed.awaitUntil(deadline)) continue;
        log(LogLevel::warning, "a listener whose connections belong to ended event loops does not close: its own loop "
                               "does not respond");
        return false;
    }
    return true;
}

// Listeners on other loops, which would go on giving connections to these.
std::vector<Future<void>> LoopSet::closeFeeders() {
    std::vector<Future<void>> closing;
    for (const auto& server : living(feeders_)) closing.push_back(server->closeListeners());
    return closing;
}

void LoopSet::nameStragglers() const noexcept {
    for (std::size_t i = 0; i < ended_.size(); ++i) {
        if (ended_[i].done()) continue;
        log(LogLevel::warning, {"the event loop of carrier ", loops_[i]->carrier()->name(),
                                " does not end: a handler or task on it does not return"});
    }
}

Future<void> LoopSet::shutdownGracefully(Duration quiet, Duration timeout, UniqueFunction<void()> whenEnded) {
    const auto running = std::make_shared<RunningLoops>(std::move(whenEnded));
    lookups_->close();  // the loops close their channels now; a later answer would find none
    static_cast<void>(closeFeeders());
    for (std::size_t i = 0; i < ended_.size(); ++i) {
        ended_[i].addListener([running](const Future<void>&) {});
        loops_[i]->shutdownGracefully(quiet, timeout);
    }
    return running->allEnded.future();
}

void LoopSet::addServer(const std::shared_ptr<ServerState>& server, bool listensHere) {
    std::lock_guard held(lock_);
    for (auto* const list : {&servers_, &feeders_}) {
        std::erase_if(*list, [](const auto& known) { return known.expired(); });
    }
    servers_.push_back(server);
    if (!listensHere) feeders_.push_back(server);
}

std::vector<std::shared_ptr<ServerState>> LoopSet::living(const std::vector<std::weak_ptr<ServerState>>& list) {
    std::lock_guard held(lock_);
    std::vector<std::shared_ptr<ServerState>> all;
    for (const auto& known : list) {
        if (auto server = known.lock()) all.push_back(std::move(server));
    }
    return all;
}

}  // namespace weft::detail
