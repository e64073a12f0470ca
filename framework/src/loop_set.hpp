// LoopSet: the event loops of one carrier group, shared by the EventLoopGroups on it, and the servers that use them.
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

// Makes a handler for one loop; never null. The transport is never `automatic`.
using IoHandlerMaker = std::function<std::unique_ptr<IoHandler>(Transport::Kind transport)>;

class LoopSet {
  public:
    // The set of this carrier group: the one that exists, or a new one with every poller open. `automatic` is epoll for
    // all loops of a new one when one of them cannot be opened on io_uring.
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

    // Gives up one user's share; true when it was the last, who then calls stop().
    bool leave() noexcept { return users_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
    // Ends the loops; false when `deadline` came first: those that have not ended are named in the log. May be
    // repeated.
    bool stop(Deadline deadline);
    // EventLoop::shutdownGracefully() of each; when all have ended, calls whenEnded() and completes.
    Future<void> shutdownGracefully(Duration quiet, Duration timeout, UniqueFunction<void()> whenEnded);

    // Names that are being resolved for connections of these loops.
    const std::shared_ptr<Lookups>& lookups() const noexcept { return lookups_; }

    void addServer(const std::shared_ptr<ServerState>& server);
    std::vector<std::shared_ptr<ServerState>> servers();

  private:
    static std::shared_ptr<LoopSet> make(CarrierGroup& carriers, Transport::Kind transport,
                                         const IoHandlerMaker& makeIoHandler, const EventLoop::Options& options);
    void startLoop(Carrier& carrier, std::unique_ptr<IoHandler> handler, const EventLoop::Options& options);
    void nameStragglers() const noexcept;

    CarrierGroup& carriers_;
    const Transport::Kind transport_;  // of the handlers that were made; another one may have been put in their place
    std::vector<std::unique_ptr<EventLoop>> loops_;
    std::vector<Future<void>> ended_;                                       // of each loop that was started
    const std::shared_ptr<Lookups> lookups_ = std::make_shared<Lookups>();  // shared with resolvers, who may outlive it
    std::atomic<unsigned> users_{0};
    std::atomic<unsigned> next_{0};
    std::mutex lock_;  // guards servers_
    std::vector<std::weak_ptr<ServerState>> servers_;
};

}  // namespace weft::detail
