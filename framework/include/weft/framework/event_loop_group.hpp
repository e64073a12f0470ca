// EventLoopGroup: one event loop with sockets per carrier, for use by bootstraps. It owns its carriers or borrows those
// of a CarrierGroup that the application made.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/build_tag.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/transports/transport.hpp>

namespace weft {

namespace detail {
class LoopSet;
}

// Receives the handler that a transport made for one loop and returns the handler that the loop will call: a decorator
// of it (IoHandlerDecorator) or another handler with sockets. Called once per carrier, by the thread that makes the
// group, before the handler is opened; called once more when `automatic` falls back to epoll. The group's constructor
// passes on its exceptions, and throws std::invalid_argument for null or a handler without sockets.
using IoHandlerWrapper = std::function<std::unique_ptr<IoHandler>(std::unique_ptr<SocketIoHandler> builtIn)>;

// CarrierOptions and the group's own: `options.carriers = 4; options.transport = ...`. The constructor validates them.
struct EventLoopGroupOptions : CarrierOptions {
    std::optional<Transport::Kind> transport;  // unset: WEFT_TRANSPORT (auto|epoll|io_uring), else automatic
    EventLoop::Options loop = {};              // for each carrier's loop
    IoHandlerWrapper ioHandler = {};           // wraps each carrier's handler; unset: no wrapper
};

// Two groups on one CarrierGroup share its loops, which end with the last of these groups. What was made through the
// group (servers, channels) may be kept after its end: everything is closed, and operations are refused.
class EventLoopGroup {
  public:
    static constexpr Duration defaultDrainTime = std::chrono::seconds(5);
    static constexpr Duration defaultQuiet = std::chrono::seconds(2);
    static constexpr Duration defaultGracefulTime = std::chrono::seconds(15);

    // Creates its own carriers. When the constructor returns, every loop has opened its poller; on a failure it has
    // released everything. The transport `automatic` is Transport::best(); if io_uring cannot be opened on one loop,
    // all loops use epoll and a warning is logged. Throws ConfigurationError (an option or variable),
    // std::invalid_argument (an option of the loop), SystemError (a kernel error, with the carrier's name), and
    // std::logic_error when a carrier already hosts another poller. Context: a plain thread, or a fiber of other
    // carriers.
    explicit EventLoopGroup(const EventLoopGroupOptions& options = {}, detail::ThisBuild = {});
    // Uses existing carriers, which must outlive the group. `transport`, `loop` and `ioHandler` apply only to loops
    // made now; loops that another group has already made keep theirs. While the loops of an earlier group end on these
    // carriers, waits for that. Throws as above. Context: as above.
    explicit EventLoopGroup(CarrierGroup& carriers, std::optional<Transport::Kind> transport = {},
                            const EventLoop::Options& loop = {}, const IoHandlerWrapper& ioHandler = {});
    // Runs shutdown() without a time limit: closes channels, then aborts and awaits the fibers of its own carriers. In
    // a process forked from the group's, no loops run, and the destructor awaits, closes and frees nothing.
    ~EventLoopGroup();
    EventLoopGroup(const EventLoopGroup&) = delete;
    EventLoopGroup& operator=(const EventLoopGroup&) = delete;

    std::size_t size() const noexcept;
    // The transport of all its loops: epoll or ioUring, never automatic.
    Transport::Kind transport() const noexcept;
    EventLoop& loop(std::size_t index);  // throws std::out_of_range
    // The calling carrier's loop if it belongs to this group, otherwise round robin. Context: any thread.
    EventLoop& next() noexcept;
    CarrierGroup& carriers() noexcept { return *carriers_; }
    // Starts a fiber: see CarrierGroup::spawn().
    template <class F>
    auto spawn(F&& fn, SpawnOptions options = {}) {
        return carriers_->spawn(std::forward<F>(fn), options);
    }

    // Drains every server bound on this group's loops, all at the same time: see Server::drain(). A bind that is in
    // progress fails with operation_aborted; one that begins later is not affected. Returns the number of connections
    // that were still open at the timeout. Blocks the fiber or thread for at most about `timeout` plus a second.
    std::size_t drain(Duration timeout = defaultDrainTime);

    // Closes every channel, ends the loops, then ends the carriers if the group owns them. Loops shared with another
    // group keep running. Returns false if `timeout` passed first; may then be called again. Context: a plain thread if
    // the group owns its carriers, else anywhere but these carriers' dispatch; several threads may call it at once.
    // Blocks.
    bool shutdown(Duration timeout);
    // Netty's shutdown (L-3): closes every channel and refuses new ones, cancels timed tasks, and keeps running tasks
    // until none has run for `quiet` or `timeout` has passed. Then it ends the loops and, if the group owns its
    // carriers, starts to end those, aborting their fibers. It drains nothing: see drain(). The future completes when
    // the loops have ended, or at once when another group keeps them. Only the first call takes effect; later calls
    // return its future. Throws std::invalid_argument unless 0 <= quiet <= timeout. Context: any thread; never blocks.
    Future<void> shutdownGracefully(Duration quiet = defaultQuiet, Duration timeout = defaultGracefulTime);

    const std::shared_ptr<detail::LoopSet>& loopSet() const noexcept { return loops_; }  // for bootstraps

  private:
    bool leaveOnce() noexcept;

    std::shared_ptr<detail::LoopSet> loops_;  // destroyed last: functions of the carriers' blocking pool may use them
    std::unique_ptr<CarrierGroup> own_;
    CarrierGroup* carriers_;
    std::mutex lock_;            // guards the members below
    bool hasLeftLoops_ = false;  // a shutdown has released this group's share of the loops
    bool hadLastShare_ = false;  // it was the last share
    std::optional<Future<void>> gracefulEnd_;
};

}  // namespace weft
