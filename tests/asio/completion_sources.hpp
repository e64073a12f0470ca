// Sources of completions, as tests of their order start them: each appends its name to the trace when it completes.
// Left out, because two io_contexts differ: a resolver, also of a numeric host, which completes through a thread of its
// own, and io_context::strand, whose queue another strand may share, depending on its address.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "asio/order_kit.hpp"

namespace weft::asio_io::order {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;
using namespace std::chrono_literals;

// What one program starts, and what it has observed so far.
class Scene {
  public:
    explicit Scene(asio::io_context& context) : context(context) {}

    asio::io_context& context;
    test::Trace trace;

    // An object that lives as long as the scene.
    template <class T, class... Arguments>
    T& make(Arguments&&... arguments) {
        auto made = std::make_shared<T>(std::forward<Arguments>(arguments)...);
        kept_.push_back(made);
        return *made;
    }
    // The completion of a source. Posts another function, whose place in the trace shows when the reactor was asked.
    auto completion(const std::string& name) {
        return [this, name](const auto&... results) {
            trace.push_back(name + textOf(results...));
            asio::post(context, [this, name] { trace.push_back(name + "'"); });
        };
    }

  private:
    static std::string textOf() { return {}; }
    template <class First, class... Others>
    static std::string textOf(const First& first, const Others&...) {
        if constexpr (std::is_same_v<First, error_code>) return first ? "(" + std::to_string(first.value()) + ")" : "";
        return {};
    }

    std::vector<std::shared_ptr<void>> kept_;
};

struct LocalPair {
    explicit LocalPair(asio::io_context& context) : socket(context), peer(context) {
        asio::local::connect_pair(socket, peer);
    }
    void sendByte() { asio::write(peer, asio::buffer("x", 1)); }
    Local::socket socket, peer;
    std::array<char, 2> bytes{};
};

struct Listening {
    explicit Listening(asio::io_context& context)
        : acceptor(context, {asio::ip::address_v4::loopback(), 0}), client(context), accepted(context) {}
    void connect() {
        client.connect(acceptor.local_endpoint());
        test::awaitReady(acceptor.native_handle());
    }
    tcp::acceptor acceptor;
    tcp::socket client, accepted;
};

struct Pipe {
    explicit Pipe(asio::io_context& context) : in(context), out(context) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
        in.assign(ends[0]);
        out.assign(ends[1]);
    }
    asio::posix::stream_descriptor in, out;
    char byte = 0;
};

using Channel = asio::experimental::channel<void(error_code)>;

constexpr auto longAgo = std::chrono::steady_clock::time_point(1s);

template <class Executor>
inline void expiredTimerOn(Scene& scene, const Executor& executor, const std::string& name) {
    auto& timer = scene.make<asio::steady_timer>(scene.context, longAgo);
    timer.async_wait(asio::bind_executor(executor, scene.completion(name)));
    test::awaitExpiry(scene.context);
}

LocalPair& pendingRead(Scene& scene, const std::string& name) {
    auto& pair = scene.make<LocalPair>(scene.context);
    pair.socket.async_read_some(asio::buffer(pair.bytes, 1), scene.completion(name));
    return pair;
}

// A carrier's thread blocks signals, so std::raise() in a handler would deliver none. Returns once the signal's
// handler, on whatever thread, has told Asio, beside the signals that Asio has not read yet.
inline void raiseInProcess(int number) {
    const auto told = [] {
        int bytes = 0;
        ::ioctl(asio::detail::get_signal_state()->read_descriptor_, FIONREAD, &bytes);
        return bytes;
    };
    const int before = told();
    ::kill(::getpid(), number);
    while (told() == before) std::this_thread::yield();
}

asio::awaitable<void> noteTwice(Scene& scene, std::string name) {
    scene.trace.push_back(name + "-");
    co_await asio::post(scene.context, asio::use_awaitable);
    scene.completion(name)();
}

struct Source {
    const char* name;
    void (*start)(Scene& scene, const std::string& name);
};

inline const Source sources[] = {
    {"post", [](Scene& s, const std::string& n) { asio::post(s.context, s.completion(n)); }},
    {"dispatch", [](Scene& s, const std::string& n) { asio::dispatch(s.context, s.completion(n)); }},
    {"defer", [](Scene& s, const std::string& n) { asio::defer(s.context, s.completion(n)); }},
    {"execute that never blocks",
     [](Scene& s, const std::string& n) {
         asio::require(s.context.get_executor(), asio::execution::blocking.never).execute(s.completion(n));
     }},
    {"execute of a relationship of continuation",
     [](Scene& s, const std::string& n) {
         asio::require(s.context.get_executor(), asio::execution::blocking.never,
                       asio::execution::relationship.continuation)
             .execute(s.completion(n));
     }},
    {"post through any_io_executor",
     [](Scene& s, const std::string& n) {
         asio::post(asio::any_io_executor(s.context.get_executor()), s.completion(n));
     }},
    {"post of a function bound to the context",
     [](Scene& s, const std::string& n) { asio::post(asio::bind_executor(s.context, s.completion(n))); }},
    {"post by a thread",
     [](Scene& s, const std::string& n) { std::thread([&] { asio::post(s.context, s.completion(n)); }).join(); }},
    {"post to a strand",
     [](Scene& s, const std::string& n) { asio::post(asio::make_strand(s.context), s.completion(n)); }},
    {"dispatch to a strand",
     [](Scene& s, const std::string& n) { asio::dispatch(asio::make_strand(s.context), s.completion(n)); }},
    {"two posts to a strand",
     [](Scene& s, const std::string& n) {
         const auto strand = asio::make_strand(s.context);
         asio::post(strand, s.completion(n + "1"));
         asio::post(strand, s.completion(n + "2"));
     }},
    {"coroutine",
     [](Scene& s, const std::string& n) { asio::co_spawn(s.context, noteTwice(s, n), asio::detached); }},
    {"channel with a receiver",
     [](Scene& s, const std::string& n) {
         auto& channel = s.make<Channel>(s.context.get_executor(), 1);
         channel.async_receive(s.completion(n));
         channel.try_send(error_code());
     }},
    {"channel with a message",
     [](Scene& s, const std::string& n) {
         auto& channel = s.make<Channel>(s.context.get_executor(), 1);
         channel.async_send(error_code(), s.completion(n + "sent"));
         channel.async_receive(s.completion(n));
     }},
    {"channel that is cancelled",
     [](Scene& s, const std::string& n) {
         auto& channel = s.make<Channel>(s.context.get_executor(), 1);
         channel.async_receive(s.completion(n));
         channel.cancel();
     }},
    {"expired timer",
     [](Scene& s, const std::string& n) { expiredTimerOn(s, s.context.get_executor(), n); }},
    {"expired timer on a strand",
     [](Scene& s, const std::string& n) { expiredTimerOn(s, asio::make_strand(s.context), n); }},
    {"expired timer of the system's clock",
     [](Scene& s, const std::string& n) {
         s.make<asio::system_timer>(s.context, std::chrono::system_clock::time_point(1s)).async_wait(s.completion(n));
         test::awaitExpiry(s.context);
     }},
    {"cancelled timer",
     [](Scene& s, const std::string& n) {
         auto& timer = s.make<asio::steady_timer>(s.context, 1h);
         timer.async_wait(s.completion(n));
         timer.cancel();
     }},
    {"timer that is set anew",
     [](Scene& s, const std::string& n) {
         auto& timer = s.make<asio::steady_timer>(s.context, 1h);
         timer.async_wait(s.completion(n + "old"));
         timer.expires_at(longAgo);
         timer.async_wait(s.completion(n));
         test::awaitExpiry(s.context);
     }},
    {"data, then a read",
     [](Scene& s, const std::string& n) {
         auto& pair = s.make<LocalPair>(s.context);
         pair.sendByte();
         pair.socket.async_read_some(asio::buffer(pair.bytes, 1), s.completion(n));
     }},
    {"read, then data", [](Scene& s, const std::string& n) { pendingRead(s, n).sendByte(); }},
    {"two reads, then data",
     [](Scene& s, const std::string& n) {
         auto& pair = pendingRead(s, n + "1");
         pair.socket.async_read_some(asio::buffer(pair.bytes.data() + 1, 1), s.completion(n + "2"));
         asio::write(pair.peer, asio::buffer("xy", 2));
     }},
    {"wait for data, then data",
     [](Scene& s, const std::string& n) {
         auto& pair = s.make<LocalPair>(s.context);
         pair.socket.async_wait(Local::socket::wait_read, s.completion(n));
         pair.sendByte();
     }},
    {"wait for room to write",
     [](Scene& s, const std::string& n) {
         s.make<LocalPair>(s.context).socket.async_wait(Local::socket::wait_write, s.completion(n));
     }},
    {"read, then the peer's end", [](Scene& s, const std::string& n) { pendingRead(s, n).peer.close(); }},
    {"closed socket with a pending read", [](Scene& s, const std::string& n) { pendingRead(s, n).socket.close(); }},
    {"cancelled read", [](Scene& s, const std::string& n) { pendingRead(s, n).socket.cancel(); }},
    {"read of a socket that is not open",
     [](Scene& s, const std::string& n) {
         auto& socket = s.make<Local::socket>(s.context);
         socket.async_wait(Local::socket::wait_read, s.completion(n));
     }},
    {"write",
     [](Scene& s, const std::string& n) {
         asio::async_write(s.make<LocalPair>(s.context).socket, asio::buffer("x", 1), s.completion(n));
     }},
    {"TCP connect",
     [](Scene& s, const std::string& n) {
         auto& listening = s.make<Listening>(s.context);
         listening.client.async_connect(listening.acceptor.local_endpoint(), s.completion(n));
         test::awaitReady(listening.client.native_handle(), POLLOUT);
         test::awaitReady(listening.acceptor.native_handle());  // the kernel tells it a little later
     }},
    {"accept of a connection that is there",
     [](Scene& s, const std::string& n) {
         auto& listening = s.make<Listening>(s.context);
         listening.connect();
         listening.acceptor.async_accept(listening.accepted, s.completion(n));
     }},
    {"accept, then a connection",
     [](Scene& s, const std::string& n) {
         auto& listening = s.make<Listening>(s.context);
         listening.acceptor.async_accept(listening.accepted, s.completion(n));
         listening.connect();
     }},
    {"datagram",
     [](Scene& s, const std::string& n) {
         auto& socket = s.make<udp::socket>(s.context, udp::endpoint(asio::ip::address_v4::loopback(), 0));
         auto& byte = s.make<std::array<char, 1>>();
         socket.async_receive(asio::buffer(byte), s.completion(n));
         socket.send_to(asio::buffer("x", 1), socket.local_endpoint());
         test::awaitReady(socket.native_handle());
     }},
    {"pipe",
     [](Scene& s, const std::string& n) {
         auto& pipe = s.make<Pipe>(s.context);
         pipe.in.async_read_some(asio::buffer(&pipe.byte, 1), s.completion(n));
         asio::write(pipe.out, asio::buffer("x", 1));
     }},
    {"raised signal",
     [](Scene& s, const std::string& n) {
         s.make<asio::signal_set>(s.context, SIGUSR1).async_wait(s.completion(n));
         raiseInProcess(SIGUSR1);
     }},
    {"cancelled wait for a signal",
     [](Scene& s, const std::string& n) {
         auto& signals = s.make<asio::signal_set>(s.context, SIGUSR2);
         signals.async_wait(s.completion(n));
         signals.cancel();
     }},
};

}  // namespace weft::asio_io::order
