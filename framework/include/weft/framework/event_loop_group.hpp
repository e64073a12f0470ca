// EventLoopGroup: one event loop with sockets per carrier; what bootstraps take loops from. It owns its carriers, or
// borrows those of a CarrierGroup that the application made.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/transports/transport.hpp>

namespace weft {

namespace detail {
class LoopSet;
}

// Receives the handler that a transport has made for one loop, and returns the one that the loop is to call: a
// decorator of it (IoHandlerDecorator), or another one with sockets. Called once for each carrier, by the thread that
// makes the group, before the handler is opened; once more where `automatic` falls back to epoll. What it throws, the group's constructor throws; null, and a handler
// without sockets, are refused with std::invalid_argument.
using IoHandlerWrapper = std::function<std::unique_ptr<IoHandler>(std::unique_ptr<SocketIoHandler> builtIn)>;

// CarrierOptions, and what is theirs alone: `options.carriers = 4; options.transport = ...`. Checked by the constructor.
struct EventLoopGroupOptions : CarrierOptions {
    std::optional<Transport::Kind> transport;  // unset: WEFT_TRANSPORT (auto|epoll|io_uring), else automatic
    EventLoop::Options loop = {};              // of each carrier's loop
    IoHandlerWrapper ioHandler = {};           // around each carrier's handler; unset: none
};

// Two groups on one CarrierGroup share the loops that exist; they end with the last of these groups. Everything made by
// it (servers, channels, references to them) must be gone or unused before the group dies.
class EventLoopGroup {
  public:
    static constexpr Duration defaultDrainTime = std::chrono::seconds(5);
    static constexpr Duration defaultQuiet = std::chrono::seconds(2);
    static constexpr Duration defaultGracefulTime = std::chrono::seconds(15);

    // Carriers of its own. Every loop has opened its poller when the constructor returns; on a failure nothing is left
    // behind. The transport `automatic` is Transport::best(); when one loop cannot be opened on io_uring, all are on epoll
    // and the reason is logged (warning). Throws ConfigurationError (an option or variable), std::invalid_argument (an option of the loop),
    // SystemError (what the kernel refused, with the carrier's name), std::logic_error when a carrier hosts another
    // poller. Context: a plain thread, or a fiber of other carriers.
    explicit EventLoopGroup(const EventLoopGroupOptions& options = {});
    // Loops on carriers that exist and that outlive the group. `transport`, `loop` and `ioHandler` are for loops that
    // are made now: those that another group has made stay as they are. Throws as above. Context: as above.
    explicit EventLoopGroup(CarrierGroup& carriers, std::optional<Transport::Kind> transport = {},
                            const EventLoop::Options& loop = {}, const IoHandlerWrapper& ioHandler = {});
    // shutdown() for as long as it takes: channels are closed, fibers of own carriers are aborted and awaited. In a
    // process that was forked from the group's there are no loops: nothing is awaited, closed or freed.
    ~EventLoopGroup();
    EventLoopGroup(const EventLoopGroup&) = delete;
    EventLoopGroup& operator=(const EventLoopGroup&) = delete;

    std::size_t size() const noexcept;
    // Of all its loops: epoll or ioUring; never automatic.
    Transport::Kind transport() const noexcept;
    EventLoop& loop(std::size_t index);  // throws std::out_of_range
    // The calling carrier's loop if it is one of this group, else round robin. Any thread.
    EventLoop& next() noexcept;
    CarrierGroup& carriers() noexcept { return *carriers_; }

    // Drains every server that was bound on this group's loops, at the same time: see Server::drain(). A bind that is
    // under way fails with operation_aborted; one that begins later is not affected. Returns how many connections were
    // late. Blocks the fiber or thread, never longer than about `timeout` plus a second.
    std::size_t drain(Duration timeout = defaultDrainTime);

    // Closes every channel and ends the loops, then the carriers if they are its own. Loops that another group shares
    // go on. False when `timeout` passed first; may be repeated. Context: a plain thread (own carriers), else not one
    // of these carriers' dispatch. Blocks.
    bool shutdown(Duration timeout);
    // Netty's shutdown (L-3): closes every channel and refuses new ones, cancels timed tasks, goes on running tasks
    // until none has run for `quiet`, or `timeout` has passed, then ends the loops, and begins to end the carriers if
    // they are its own, whose fibers are aborted. Nothing is drained: see drain(). The future completes when the loops
    // have ended; at once when another group goes on with them. The first call decides, a later one returns its future.
    // Throws std::invalid_argument unless 0 <= quiet <= timeout. Context: as the group's owner; never blocks.
    Future<void> shutdownGracefully(Duration quiet = defaultQuiet, Duration timeout = defaultGracefulTime);

    const std::shared_ptr<detail::LoopSet>& loopSet() const noexcept { return loops_; }  // for bootstraps

  private:
    bool stopLoops(Deadline deadline);
    void leave() noexcept;

    std::unique_ptr<CarrierGroup> own_;
    CarrierGroup* carriers_;
    std::shared_ptr<detail::LoopSet> loops_;
    bool left_ = false;  // shutdown() has given up this share of the loops
    bool last_ = false;  // ... which was the last
    std::optional<Future<void>> gracefulEnd_;
};

}  // namespace weft
