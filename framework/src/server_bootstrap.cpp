// For each listener a bind creates a socket and a channel, registers it and binds it. The first listener's port is used
// for the others. Each step runs in a listener of the previous step's future, so that nothing blocks.
#include <weft/framework/server_bootstrap.hpp>

#include <cerrno>
#include <chrono>
#include <stdexcept>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/fallback_listener.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/two_choices.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "child_fiber.hpp"
#include "fiber_sink.hpp"
#include "loop_set.hpp"
#include "server_state.hpp"

namespace weft {

namespace {

using detail::FallbackListener;
using detail::PipelineSetup;
using detail::ServerState;

constexpr int portTries = 100;
constexpr std::chrono::milliseconds portPause{1};

// The last handler of a listener's pipeline. It turns accepted sockets into connections of the server.
class ServerAcceptor final : public SimpleInboundHandler<ChannelRef> {
  public:
    explicit ServerAcceptor(std::shared_ptr<ServerState> server) noexcept : server_(std::move(server)) {}

    // E-7: the listener continues; its transport has paused it if descriptors are short.
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        log(LogLevel::warning, "accepting on " + server_->localAddress.toString() + ": " + describe(cause));
    }

  protected:
    void channelRead0(ChannelHandlerContext&, ChannelRef child) override { server_->adopt(std::move(child)); }

  private:
    const std::shared_ptr<ServerState> server_;
};

// A bind() in progress.
struct Binding {
    std::shared_ptr<ServerState> server;
    PipelineSetup listener;
    SocketAddress address;            // after the first listener, includes its port
    std::vector<EventLoop*> loops;    // one listener on each
    std::vector<EventLoop*> workers;  // connections go to these; empty: they stay on their listener's loop
    bool sharesPort = false;          // with other processes, as the program requested
    bool childIsFiber = false;
    Promise<Server> outcome;

    void fail(std::exception_ptr cause) {
        if (!server->mayBind()) cause = drained();
        server->abandon();
        outcome.setError(std::move(cause));
    }
    // The loop of a step has ended, so that the step is never told.
    void dropped() noexcept {
        try {
            throw SystemError(operationAborted(), "bind to " + address.toString() + ": its event loop has ended");
        } catch (...) {
            fail(std::current_exception());
        }
    }
    std::exception_ptr drained() const {
        return std::make_exception_ptr(SystemError(
            operationAborted(), "bind to " + address.toString() + ": its event loop group is being drained"));
    }
};
using BindingPointer = std::shared_ptr<Binding>;

void sharePort(Channel& listener) {
    if (ErrorCode error = listener.setOption(ChannelOption::REUSE_PORT, true)) throw SystemError(error, "SO_REUSEPORT");
}

// B-3: the descriptor has an owner at all times, whatever throws.
ChannelRef makeListener(const BindingPointer& binding, std::size_t index) {
    EventLoop& loop = *binding->loops[index];
    SocketIoHandler* const sockets = SocketIoHandler::of(loop);
    if (!sockets) throw std::logic_error("the event loop has no sockets: create its group with a socket transport");
    Fd fd = openTcpSocket(binding->address.family(), sockets->systemCalls());
    ChildSetup children;
    if (binding->childIsFiber) children.makeSink = &detail::FiberSink::make;
    if (!binding->workers.empty()) {
        // Must not hold the server: listeners keep this chooser for as long as they exist, even when closed.
        children.chooseLoop = [workers = binding->workers, turn = std::uint32_t{0}]() mutable -> EventLoop& {
            const auto load = [&](std::size_t worker) { return workers[worker]->carrier()->load(); };
            return *workers[detail::betterOfTwo(turn++, workers.size(), load)];
        };
    }
    ChannelRef listener = Channel::create(loop);
    listener->attach(sockets->listener(std::move(fd), *listener, std::move(children)));
    binding->listener.applyOptions(*listener);
    if (index > 0) sharePort(*listener);
    // B-1: a task adds the acceptor, after all handlers that the user's handler adds.
    listener->pipeline().addLast([binding](Channel& channel) {
        binding->listener.fill(channel);
        channel.loop().execute([itself = ChannelRef(channel), server = binding->server] {
            if (itself->open()) itself->pipeline().addLast<ServerAcceptor>(server);
        });
    });
    return listener;
}

void bindListener(const BindingPointer& binding, std::size_t index);

// With SO_REUSEPORT a listener would silently share the port with any other process of the same user. So the first
// listener binds and listens without it, which the kernel allows for only one socket per port. It then sets the option,
// so that the other loops' listeners can join; no other server's first listener can.
void firstListens(const BindingPointer& binding) {
    Channel& first = *binding->server->listeners[0];
    binding->address = first.localAddress();
    binding->server->localAddress = binding->address;
    if (binding->loops.size() > 1 && !binding->sharesPort) sharePort(first);
}

void listening(const BindingPointer& binding, std::size_t index) {
    try {
        if (index == 0) firstListens(binding);
    } catch (...) {
        return binding->fail(std::current_exception());
    }
    if (index + 1 < binding->loops.size()) return bindListener(binding, index + 1);
    if (!binding->server->finishBind()) return binding->fail(binding->drained());
    binding->outcome.setValue(Server(binding->server));
}

// While a rival's listen() is failing, the kernel counts it as a listener and refuses binds to the port. By then the
// port belongs to our first listener, so the other loops' listeners only need to retry.
bool portWasTaken(std::size_t index, const ChannelFuture& done) {
    return index > 0 && errorCodeOf(done.cause()) == fromErrno(EADDRINUSE);
}

// The promise of one attempt to bind. An attempt that an ending loop drops fails like any other.
ChannelPromise attempt(const BindingPointer& binding, std::size_t index, const ChannelRef& listener, int triesLeft) {
    ChannelPromise bound = listener->newPromise();
    const auto end = [binding, index, listener, triesLeft](const ChannelFuture& done) {
        if (done.success()) return listening(binding, index);
        if (triesLeft == 0 || !portWasTaken(index, done)) return binding->fail(done.cause());
        const ChannelPromise next = attempt(binding, index, listener, triesLeft - 1);
        try {
            listener->loop().schedule([binding, listener, next] { listener->bind(binding->address, next); }, portPause);
        } catch (...) {
            next.tryFailure(std::current_exception());
        }
    };
    bound.addListener(FallbackListener(end, [binding] { binding->dropped(); }));
    return bound;
}

void bindListener(const BindingPointer& binding, std::size_t index) {
    ChannelRef listener;
    try {
        listener = makeListener(binding, index);
    } catch (...) {
        return binding->fail(std::current_exception());
    }
    if (!binding->server->addListener(listener)) return binding->fail(binding->drained());
    const ChannelPromise bound = attempt(binding, index, listener, portTries);
    const auto bindIt = [binding, listener, bound](const ChannelFuture& registered) {
        if (!registered.success()) {
            bound.tryFailure(registered.cause());
            return;
        }
        try {
            // B-1: after the task that adds the acceptor; otherwise a connection could arrive before it.
            listener->loop().execute([binding, listener, bound] { listener->bind(binding->address, bound); });
        } catch (...) {
            bound.tryFailure(std::current_exception());
        }
    };
    const auto dropped = [bound] { bound.tryFailure(operationAborted()); };
    listener->registerWithLoop().addListener(FallbackListener(bindIt, dropped));
}

}  // namespace

AcceptMode ServerBootstrap::resolvedMode() const {
    const bool oneGroup = acceptors_->loopSet() == workers_->loopSet();
    if (acceptMode_ == AcceptMode::perLoop && !oneGroup) {
        throw std::logic_error("AcceptMode::perLoop keeps a connection on its listener's loop: use one group for both");
    }
    if (acceptMode_ != AcceptMode::automatic) return acceptMode_;
    return oneGroup && workers_->size() > 1 ? AcceptMode::perLoop : AcceptMode::single;
}

ServerBootstrap& ServerBootstrap::setChildFiber(UniqueFunction<void(TcpStream)> fn, const SpawnOptions& options) {
    child_.setHandler(std::make_shared<detail::ChildFiber>(std::move(fn), options));
    childIsFiber_ = true;
    return *this;
}

BindFuture ServerBootstrap::bind(const SocketAddress& local) {
    if (!child_.hasHandler()) throw std::logic_error("ServerBootstrap::bind() without a childHandler or childFiber");
    const bool perLoop = resolvedMode() == AcceptMode::perLoop;
    auto binding = std::make_shared<Binding>();
    binding->server = std::make_shared<ServerState>(*workers_->loopSet(), child_, local);
    binding->listener = listener_;
    binding->address = local;
    if (!perLoop && (workers_->size() > 1 || workers_->loopSet() != acceptors_->loopSet())) {
        for (std::size_t i = 0; i < workers_->size(); ++i) binding->workers.push_back(&workers_->loop(i));
    }
    binding->sharesPort = sharesPort_;
    binding->childIsFiber = childIsFiber_;
    const std::size_t count = perLoop ? acceptors_->size() : 1;
    for (std::size_t i = 0; i < count; ++i)
        binding->loops.push_back(&(count > 1 ? acceptors_->loop(i) : acceptors_->next()));
    const BindFuture future(binding->outcome.future());
    acceptors_->loopSet()->addServer(binding->server, true);  // before the first step: a drain fails a bind in progress
    if (acceptors_->loopSet() != workers_->loopSet()) workers_->loopSet()->addServer(binding->server, false);
    bindListener(binding, 0);
    return future;
}

}  // namespace weft
