// ServerState: what the handles of a Server share: its listeners and, loop by loop, its live connections.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <weft/framework/pipeline_setup.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/future.hpp>

#include "loop_set.hpp"

namespace weft::detail {

// A connection that a drain's time was too short for.
struct LateConnection {
    struct Fiber {
        std::string name;
        TimePoint since;
    };
    ChannelRef channel;
    SocketAddress peer;
    std::vector<Fiber> fibers;  // that its handlers spawned
};

// Kept alive by its handles, its acceptors and what they have under way; holds its open connections.
class ServerState : public std::enable_shared_from_this<ServerState> {
  public:
    ServerState(LoopSet& workers, PipelineSetup child, const SocketAddress& requested);

    // ---- building; by the steps of bind(), until it has ended; constant from then on ----
    std::vector<ChannelRef> listeners;
    SocketAddress localAddress;
    // False once a drain has begun: then nothing more is to be made, and what there is has been closed.
    bool mayBind() const;
    bool addListener(ChannelRef listener);
    // The bind has made everything. False when a drain came first: then it has failed.
    bool finishBind();
    // The bind has failed: closes what there is of it. Connections that a drain has been told of are left to it.
    void abandon() noexcept;
    // The server's address; while it is being bound, the one that was asked for. Any thread.
    SocketAddress address() const;

    // ---- children ----
    // Sets up a connection that is made but not registered, and registers it. Context: the listener's loop.
    void adopt(ChannelRef child);
    std::size_t liveChildren() const noexcept;

    // ---- the end; any thread; none blocks ----
    // Completes when every listener is closed.
    Future<void> closeListeners();
    // closeListeners(), and tells every connection, also those that are still on their way to their loop. A bind that
    // is under way fails; the future then completes when it has.
    Future<void> startDrain();
    std::size_t loops() const noexcept { return children_.size(); }
    // Of one loop: completes when it has no connection of this server; cancels the fibers of its connections and says
    // which these are; closes its connections.
    Future<void> emptied(std::size_t loop);
    Future<std::vector<LateConnection>> cancelAll(std::size_t loop);
    void closeAll(std::size_t loop) noexcept;
    // Those of these connections of one loop that have fibers still.
    Future<std::vector<LateConnection>> unfinished(std::size_t loop, std::vector<LateConnection> of);
    // A figure.
    std::size_t liveChildren(std::size_t loop) const noexcept;

  private:
    // Whose the listeners are: the bind's, until it has ended; then, if it has made a server, everybody's.
    enum class Bind : unsigned char { underWay, drained, done, failed };

    // The connections of one loop. Context: that loop, except live.
    struct Children {
        explicit Children(EventLoop& itsLoop) : loop(itsLoop) {}
        EventLoop& loop;
        std::list<ChannelRef> open;
        std::atomic<std::size_t> live{0};      // open.size(), for other threads; a figure
        std::vector<Promise<void>> whenEmpty;  // of drains
        bool draining = false;                 // who comes now is told at once
    };

    std::vector<ChannelRef> listenersNow() const;
    bool drainBind();
    bool failBind();
    void admit(Channel& child);
    static void remove(Children& children, std::list<ChannelRef>::iterator child) noexcept;
    static void fireDrainStarted(Children& children) noexcept;
    static void tellOfDrain(Channel& child) noexcept;
    static void closeAllNow(Children& children) noexcept;

    const PipelineSetup child_;
    const SocketAddress requested_;
    std::vector<std::unique_ptr<Children>> children_;  // by the index of the worker loop's carrier
    mutable std::mutex lock_;                          // guards bind_ and, until it is done, listeners
    Bind bind_ = Bind::underWay;
    Promise<void> bindFailed_;  // and its listeners are closed
};

}  // namespace weft::detail
