// Code that waits in an operation of a Context: each kind of operation, by each kind of code. For the tests of ends.
#pragma once

#include <array>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/fiber_strand.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/future.hpp>

namespace weft::asio_io::test {

namespace asio = boost::asio;

enum class Kind : unsigned char {
    timer,
    accept,
    read,
    write,
    connect,
    resolve,
    signal,
    channel,
    initiation,
    promise,
    retries
};
enum class Who : unsigned char { function, strand, fiber, coroutine, callback };

inline std::string nameOf(Kind kind) {
    const char* const names[] = {"Timer",  "Accept",  "Read",       "Write",   "Connect", "Resolve",
                                 "Signal", "Channel", "Initiation", "Promise", "Retries"};
    return names[static_cast<std::size_t>(kind)];
}
inline std::string nameOf(Who who) {
    const char* const names[] = {"Function", "StrandFunction", "Fiber", "Coroutine", "Callback"};
    return names[static_cast<std::size_t>(who)];
}

// The I/O objects of one waiting code, none of whose operations completes, except for those of the resolver.
struct IoObjects {
    using Tcp = asio::ip::tcp;
    using Local = asio::local::stream_protocol;

    explicit IoObjects(Context& its)
        : context(its),
          work(asio::make_work_guard(its)),
          timer(its, std::chrono::hours(1)),
          acceptor(its, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          accepted(its),
          full(its, Tcp::v4()),
          first(its),
          late(its),
          local(its),
          peer(its),
          resolver(its),
          signals(its, SIGUSR2),
          channel(its) {
        asio::local::connect_pair(local, peer);
        full.bind(Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
        full.listen(0);  // one connection fills its queue, and the kernel ignores the next
        first.connect(full.local_endpoint());
    }

    Context& context;
    asio::executor_work_guard<Context::executor_type> work;
    asio::steady_timer timer;
    Tcp::acceptor acceptor;
    Tcp::socket accepted;
    Tcp::acceptor full;
    Tcp::socket first, late;
    Local::socket local, peer;
    Tcp::resolver resolver;
    asio::signal_set signals;
    asio::experimental::channel<void(boost::system::error_code, int)> channel;
    std::array<char, 8> bytes{};
};

inline std::string& muchData() {
    static std::string data(4 << 20, 'x');
    return data;
}

// A program's own asynchronous function, which names no executor.
template <class Token>
auto startByOwnFunction(IoObjects& io, Token token) {
    return asio::async_initiate<Token, void(boost::system::error_code)>(
        [&io](auto handler) { io.timer.async_wait(std::move(handler)); }, token);
}

// Calls visit(start), where start(token) starts the operation of this kind.
template <class Visit>
decltype(auto) visitOperation(Kind kind, IoObjects& io, Visit visit) {
    switch (kind) {
        case Kind::accept: return visit([&io](auto token) { return io.acceptor.async_accept(io.accepted, token); });
        case Kind::read:
            return visit([&io](auto token) { return io.local.async_read_some(asio::buffer(io.bytes), token); });
        case Kind::write:
            return visit([&io](auto token) { return asio::async_write(io.local, asio::buffer(muchData()), token); });
        case Kind::connect:
            return visit([&io](auto token) { return io.late.async_connect(io.full.local_endpoint(), token); });
        case Kind::resolve:
            return visit([&io](auto token) { return io.resolver.async_resolve("localhost", "80", token); });
        case Kind::signal: return visit([&io](auto token) { return io.signals.async_wait(token); });
        case Kind::channel: return visit([&io](auto token) { return io.channel.async_receive(token); });
        case Kind::initiation: return visit([&io](auto token) { return startByOwnFunction(io, token); });
        case Kind::timer:
        case Kind::promise:
        case Kind::retries: break;
    }
    return visit([&io](auto token) { return io.timer.async_wait(token); });
}

// ---- a fiber ----

inline ErrorCode awaitOperation(Kind kind, IoObjects& io) {
    ErrorCode error;
    visitOperation(kind, io, [&error](auto start) {
        try {
            static_cast<void>(start(use_fiber[error]));
        } catch (const SystemError& thrown) {  // the context has ended
            error = thrown.code();
        }
    });
    return error;
}

// Waits for a promise that a handler holds, and for nothing else: a cancellation does not end it.
inline void awaitHandlersPromise(IoObjects& io) {
    Promise<void> promise;
    const Future<void> future = promise.future();
    io.timer.async_wait([held = std::make_shared<Promise<void>>(std::move(promise))](auto) { held->setValue(); });
    const CancellationShield shield;
    EXPECT_THROW(future.get(), SystemError);
}

// Goes on with other operations when one is aborted, by token and by handler.
inline void retry(IoObjects& io) {
    for (int i = 0; i < 3; ++i) {
        for (const Kind kind : {Kind::timer, Kind::initiation, Kind::accept, Kind::resolve})
            EXPECT_EQ(awaitOperation(kind, io), operationAborted());
        awaitHandlersPromise(io);
    }
}

inline void waitInFiber(Kind kind, IoObjects& io) {
    switch (kind) {
        case Kind::promise: return awaitHandlersPromise(io);
        case Kind::retries: return retry(io);
        case Kind::resolve:
            while (!awaitOperation(kind, io)) {
            }
            return;
        default: EXPECT_TRUE(awaitOperation(kind, io)) << "the operation has completed";
    }
}

// ---- a coroutine, a callback ----

inline asio::awaitable<void> waitInCoroutine(Kind kind, std::shared_ptr<IoObjects> io) {
    do {
        co_await visitOperation(kind, *io,
                                [](auto start) -> asio::awaitable<void> { co_await start(asio::use_awaitable); });
    } while (kind == Kind::resolve);
    ADD_FAILURE() << "the operation has completed";
}

inline void waitInCallback(Kind kind, const std::shared_ptr<int>& held, const std::shared_ptr<IoObjects>& io) {
    visitOperation(kind, *io, [&](auto start) {
        start([kind, held, io](auto&&...) {
            if (kind == Kind::resolve) return waitInCallback(kind, held, io);
            ADD_FAILURE() << "the operation has completed";
        });
    });
}

// ---- all of them ----

// Starts code of `who` that owns `held` and its IoObjects, and calls begun() when it waits.
template <class Begun>
void startWaiting(Context& context, Who who, Kind kind, std::shared_ptr<int> held, Begun begun) {
    const auto inFiber = [&context, kind, held, begun] {
        IoObjects io(context);
        context.loop().execute(begun);
        waitInFiber(kind, io);
    };
    const auto inCoroutine = [&context, kind, held, begun]() -> asio::awaitable<void> {
        asio::post(context, begun);
        co_await waitInCoroutine(kind, std::make_shared<IoObjects>(context));
    };
    switch (who) {
        case Who::function: return asio::post(FiberExecutor(context), inFiber);
        case Who::strand: return asio::post(FiberStrand(context), inFiber);
        case Who::fiber:
            return asio::post(context, [&context, inFiber] {
                context.loop().carrier()->spawnDetached(inFiber, {.stealable = Stealable::never});
            });
        case Who::coroutine: return asio::co_spawn(context, inCoroutine, asio::detached);
        case Who::callback:
            return asio::post(context, [&context, kind, held, begun] {
                waitInCallback(kind, held, std::make_shared<IoObjects>(context));
                begun();
            });
    }
}

}  // namespace weft::asio_io::test
