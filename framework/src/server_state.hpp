// ServerState: the state shared by the handles of a Server: its listeners and, per loop, its live connections.
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

// A connection that was still open when a drain timed out.
struct LateConnection {
    struct Fiber {
        std::string name;
        TimePoint since;
    };
    ChannelRef channel;
    SocketAddress peer;
    std::vector<Fiber> fibers;  // spawned by its handlers
};

// Kept alive by its handles, its acceptors and operations in progress. Holds its open connections.
class ServerState : public std::enable_shared_from_this<ServerState> {
  public:
    ServerState(LoopSet& workers, PipelineSetup child, const SocketAddress& requested);

    // ---- building; written by the steps of bind(), constant once it has ended ----
    std::vector<ChannelRef> listeners;
    SocketAddress localAddress;
    // Returns false once a drain has begun: then make nothing more; what exists has been closed.
    bool mayBind() const;
    bool addListener(ChannelRef listener);
    // Called when the bind has made everything. Returns false when a drain came first; then the bind has failed.
    bool finishBind();
    // Called when the bind has failed; closes what it made. Connections that a drain has already notified are left to
    // the drain.
    void abandon() noexcept;
    // The server's address; during the bind, the requested one. Context: any thread.
    SocketAddress address() const;

    // ---- children ----
    // Sets up a new, unregistered connection and registers it. Context: the listener's loop.
    void adopt(ChannelRef child);
    std::size_t liveChildren() const noexcept;

    // ---- shutdown; context: any thread; never block ----
    // Completes when every listener is closed.
    Future<void> closeListeners();
    // closeListeners(), and notifies every connection, including those still on the way to their loop. A bind in
    // progress fails; the future then completes after that.
    Future<void> startDrain();
    std::size_t loops() const noexcept { return children_.size(); }
    // For one loop. whenEmptied() completes when the loop has no connection of this server. cancelAll() cancels the
    // fibers of its connections and returns those connections. closeAll() closes its connections.
    Future<void> whenEmptied(std::size_t loop);
    Future<std::vector<LateConnection>> cancelAll(std::size_t loop);
    void closeAll(std::size_t loop) noexcept;
    // Those of the given connections on this loop that still have fibers.
    Future<std::vector<LateConnection>> findUnfinished(std::size_t loop, std::vector<LateConnection> connections);
    // An approximate number.
    std::size_t liveChildren(std::size_t loop) const noexcept;

  private:
    // Until the bind has ended, the listeners belong to it; after a successful bind, to every handle of the server.
    enum class Bind : unsigned char { underWay, drained, done, failed };

    // The connections of one loop. Context: that loop, except live.
    struct Children {
        explicit Children(EventLoop& loop) : keptLoop(loop.shared_from_this()), loop(loop) {}
        const std::shared_ptr<EventLoop> keptLoop;  // a handle may outlive the group
        EventLoop& loop;
        std::list<ChannelRef> open;
        std::atomic<std::size_t> live{0};      // open.size() for other threads; approximate
        std::vector<Promise<void>> whenEmpty;  // promises of whenEmptied()
        bool draining = false;                 // new connections are notified at once
    };

    void admit(Channel& child);
    static void remove(Children& children, std::list<ChannelRef>::iterator child) noexcept;

    const PipelineSetup child_;
    const SocketAddress requested_;
    std::vector<std::unique_ptr<Children>> children_;  // by the index of the worker loop's carrier
    mutable std::mutex lock_;                          // guards bind_ and, until the bind is done, listeners
    Bind bind_ = Bind::underWay;
    Promise<void> bindFailed_;  // completes after the listeners of a failed bind are closed
};

}  // namespace weft::detail
