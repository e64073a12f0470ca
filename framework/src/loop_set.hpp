// LoopSet: the event loops of one carrier group, shared by its EventLoopGroups, and the servers on these loops.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/unique_function.hpp>
#include <weft/transports/transport.hpp>

#include "lookups.hpp"

namespace weft::detail {

class ServerState;

// Makes a handler for one loop. Never returns null; `transport` is never `automatic`.
using IoHandlerMaker = std::function<std::unique_ptr<IoHandler>(Transport::Kind transport)>;

class LoopSet {
  public:
    // Returns the carrier group's existing set, or makes one with every poller open; first waits for the end of one
    // that its last user has left. With `automatic`, all loops of a new set use epoll if one of them cannot be opened
    // on io_uring.
    static std::shared_ptr<LoopSet> join(CarrierGroup& carriers, Transport::Kind transport,
                                         const IoHandlerMaker& makeIoHandler, const EventLoop::Options& options);

    LoopSet(CarrierGroup& carriers, Transport::Kind transport, const IoHandlerMaker& makeIoHandler,
            const EventLoop::Options& options);
    ~LoopSet();
    LoopSet(const LoopSet&) = delete;
    LoopSet& operator=(const LoopSet&) = delete;

    std::size_t size() const noexcept { return loops_.size(); }
    Transport::Kind transport() const noexcept { return transport_; }
    EventLoop& loop(std::size_t index) { return *loops_.at(index); }
    EventLoop& next() noexcept;

    // Releases one user's share. Returns true for the last share; its owner then calls stop().
    bool leave() noexcept { return users_.fetch_sub(1, std::memory_order_acq_rel) == 1; }  // [C5]
    // Ends the loops. Returns false if `deadline` came first; the log then names the loops that have not ended. May be
    // called again.
    bool stop(Deadline deadline);
    // Calls EventLoop::shutdownGracefully() on each loop; when all have ended, calls whenEnded() and completes.
    Future<void> shutdownGracefully(Duration quiet, Duration timeout, UniqueFunction<void()> whenEnded);

    // Name resolutions for connections of these loops.
    const std::shared_ptr<Lookups>& lookups() const noexcept { return lookups_; }

    // A server with listeners on these loops, or with connections only: its listeners then close when these loops end.
    void addServer(const std::shared_ptr<ServerState>& server, bool listensHere);
    std::vector<std::shared_ptr<ServerState>> servers() { return living(servers_); }

  private:
    bool tryShare() noexcept;
    bool hasEnded() const;
    static std::shared_ptr<LoopSet> make(CarrierGroup& carriers, Transport::Kind transport,
                                         const IoHandlerMaker& makeIoHandler, const EventLoop::Options& options);
    void startLoop(Carrier& carrier, std::unique_ptr<IoHandler> handler, const EventLoop::Options& options);
    void nameStragglers() const noexcept;
    std::vector<Future<void>> closeFeeders();
    std::vector<std::shared_ptr<ServerState>> living(const std::vector<std::weak_ptr<ServerState>>& list);

    CarrierGroup& carriers_;
    const Transport::Kind transport_;                // of the handlers that were made; a wrapper may have replaced them
    std::vector<std::shared_ptr<EventLoop>> loops_;  // their channels keep them, too
    std::vector<Future<void>> ended_;                // one per started loop
    const std::shared_ptr<Lookups> lookups_ = std::make_shared<Lookups>();  // resolvers may outlive this set
    std::atomic<unsigned> users_{1};                                        // the maker's share first; final at 0
    std::atomic<unsigned> next_{0};
    std::mutex lock_;  // guards the members below
    std::vector<std::weak_ptr<ServerState>> servers_;
    std::vector<std::weak_ptr<ServerState>> feeders_;  // those of servers_ that listen on other loops
};

}  // namespace weft::detail
