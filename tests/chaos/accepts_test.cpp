// Fibers accept while descriptors run out, by the kernel's limit and by errors of accept4(): while a fiber sleeps in
// accept(), no connection waits in the backlog longer than the shortage lasts.
#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "chaos/chaos.hpp"
#include "chaos/raw_peer.hpp"
#include "support/watchdog.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

constexpr unsigned mostClients = 4;
constexpr unsigned mostAcceptors = 6;
constexpr std::array shortages{EMFILE, ENFILE, ENOBUFS, ENOMEM};

// During its lifetime no code in this process can open a descriptor.
class NoDescriptors {
  public:
    NoDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{3, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    rlimit before_{};
};

// A listener with several fibers in accept(), one of which accepts again after an error; and a few connections made
// during a shortage.
class Shift {
  public:
    Shift(SocketLoops& host, CountingSystemCalls& calls, Dice& dice) : host_(host), calls_(calls), dice_(dice) {}

    void run() {
        host_.inFiber([this] { begin(); });
        std::vector<Fd> sockets;
        for (unsigned i = dice_.between(1, mostClients); i > 0; --i) {
            sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        }
        shortage(sockets);
        for (Fd& socket : sockets) buy(RawPeer(std::move(socket)));
        host_.inFiber([this] { end(); });
    }

  private:
    void begin() {
        listener_ = TcpListener::listen(anyPort);
        address_ = listener_.localAddress();
        const unsigned count = dice_.between(1, mostAcceptors);
        const unsigned keeper = dice_.below(count);
        for (unsigned i = 0; i < count; ++i) {
            acceptors_.push_back(host_.carrier().spawn([this, stays = i == keeper] { accept(stays); }));
        }
        for (unsigned i = dice_.below(20); i > 0; --i) thisFiber::yield();  // usually all are in accept() by then
    }
    void end() {
        listener_.close();
        for (auto& acceptor : acceptors_) acceptor.join();
        for (auto& server : servers_) server.join();
    }
    void accept(bool stays) {
        ErrorCode error;
        while (!error || (stays && error != operationAborted())) {
            TcpStream stream = listener_.accept(error);
            if (!error) {
                servers_.push_back(host_.carrier().spawn([its = std::move(stream)]() mutable { serve(its); }));
            } else if (error != operationAborted()) {
                if (!isShortage(error)) wrong("accept() fails: " + error.message());
                thisFiber::sleepFor(std::chrono::microseconds(200));
            }
        }
    }
    static void serve(TcpStream& stream) {
        ErrorCode error;
        char byte = 0;
        if (stream.readExactly(std::span(&byte, 1), error) == 1) stream.write(std::span<const char>(&byte, 1), error);
    }
    static bool isShortage(ErrorCode error) {
        return std::find(shortages.begin(), shortages.end(), error.value()) != shortages.end();
    }

    // The connections arrive during the shortage, or a little later, because nothing waits for them.
    void shortage(const std::vector<Fd>& sockets) {
        if (dice_.oneIn(2)) {
            const NoDescriptors none;
            connect(sockets);
        } else {
            calls_.acceptError = dice_.pick(shortages);
            connect(sockets);
            calls_.acceptError = 0;
        }
    }
    void connect(const std::vector<Fd>& sockets) {
        for (const Fd& socket : sockets) {
            if (::connect(socket.get(), address_.data(), address_.size()) != 0) wrong("cannot connect to a listener");
            if (dice_.oneIn(2)) pause();
        }
    }
    void pause() { std::this_thread::sleep_for(std::chrono::microseconds(dice_.size(1000))); }

    void buy(RawPeer peer) {
        const char byte = static_cast<char>(dice_.below(256));
        peer.send(std::string_view(&byte, 1));
        if (dice_.oneIn(8)) return peer.reset();
        peer.receiveToEnd();
        if (peer.input() != std::string(1, byte)) wrong("a connection is not served: " + std::to_string(peer.end()));
    }

    SocketLoops& host_;
    CountingSystemCalls& calls_;
    Dice& dice_;
    TcpListener listener_;
    SocketAddress address_;
    std::vector<JoinHandle<void>> acceptors_;
    std::vector<JoinHandle<void>> servers_;
};

TEST(SocketChaos, NoConnectionWaitsWhileAFiberIsInAccept) {
    ChaosRun run("shortages");
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    Watchdog watchdog(host.group());
    for (Dice dice(0); run.goesOn(); run.count(), watchdog.advance()) Shift(host, calls, dice).run();
}

}  // namespace
}  // namespace weft::test
