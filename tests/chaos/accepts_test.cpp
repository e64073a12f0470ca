// Fibers that accept while descriptors run out, by the kernel's limit and by errors of accept4(): no connection waits in the
// backlog for longer than the shortage lasts while a fiber sleeps in accept().
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "chaos/chaos.hpp"
#include "chaos/raw_peer.hpp"
#include "support/watchdog.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

constexpr unsigned clients = 3;  // threads
constexpr int mostAcceptors = 6;

// While it lives no descriptor can be opened by anybody in this process.
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

class Shop {
  public:
    void run() {
        host_.inFiber([this] { listener_ = TcpListener::listen(anyPort); });
        host_.inFiber([this] { address_ = listener_.localAddress(); });
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < clients; ++i) threads.emplace_back([this, i] { buy(i); });
        for (Dice dice(clients); run_.goesOn();) {
            host_.inFiber([this, &dice] { hire(dice); });
            shortage(dice);
            pause(dice);
        }
        for (std::thread& thread : threads) thread.join();
        host_.inFiber([this] { listener_.close(); });
        while (acceptors_ != 0 || served_ != 0) std::this_thread::yield();  // the watchdog has a limit
    }

  private:
    // A few more acceptors; there is always one.
    void hire(Dice& dice) {
        while (acceptors_ == 0 || (acceptors_ < mostAcceptors && dice.oneIn(2))) {
            ++acceptors_;
            host_.carrier().spawnDetached([this, seed = dice.below(1u << 31)] { accept(seed); });
        }
    }
    void accept(unsigned seed) {
        for (Dice dice(seed); listener_.isOpen();) {
            ErrorCode error;
            TcpStream stream = listener_.accept(error);
            if (!error) {
                ++served_;
                host_.carrier().spawnDetached([this, its = std::move(stream)]() mutable { serve(its); });
            } else if (error != operationAborted() && !isShortage(error)) {
                wrong("accept() fails: " + error.message());
            } else if (acceptors_ > 1 && dice.oneIn(2)) {
                break;  // and does not come back
            } else {
                thisFiber::sleepFor(std::chrono::microseconds(dice.below(500)), error);
            }
        }
        --acceptors_;
    }
    void serve(TcpStream& stream) {
        ErrorCode error;
        char byte = 0;
        if (stream.readExactly(std::span(&byte, 1), error) == 1) stream.write(std::span<const char>(&byte, 1), error);
        stream.close();
        --served_;
    }
    static bool isShortage(ErrorCode error) {
        const std::array all{EMFILE, ENFILE, ENOBUFS, ENOMEM};
        return std::find(all.begin(), all.end(), error.value()) != all.end();
    }

    void shortage(Dice& dice) {
        const std::array errors{EMFILE, ENFILE, ENOBUFS, ENOMEM};
        if (dice.oneIn(2)) {
            const NoDescriptors none;
            pause(dice);
        } else {
            calls_.acceptError = dice.pick(errors);
            pause(dice);
            calls_.acceptError = 0;
        }
    }
    static void pause(Dice& dice) { std::this_thread::sleep_for(std::chrono::microseconds(dice.size(3000))); }

    // A connection that is served, or waits to be when it is given up.
    void buy(unsigned client) {
        for (Dice dice(client); run_.goesOn(); watchdog_.advance()) {
            RawPeer peer(address_);
            if (peer.fd() < 0) continue;  // it lacks a descriptor itself
            const char byte = static_cast<char>(dice.below(256));
            peer.send(std::string_view(&byte, 1));
            if (dice.oneIn(8)) {
                peer.reset();
                continue;
            }
            peer.receiveToEnd();
            if (peer.input() != std::string(1, byte)) wrong("a connection is not served: " + std::to_string(peer.end()));
            run_.count();
        }
    }

    ChaosRun run_{"connections"};
    CountingSystemCalls calls_;
    HostedLoop host_{1, calls_};
    Watchdog watchdog_{host_.group()};
    TcpListener listener_;
    SocketAddress address_;
    std::atomic<int> acceptors_{0};
    std::atomic<int> served_{0};
};

TEST(SocketChaos, NoConnectionWaitsBesideAFiberThatAccepts) {
    Shop().run();
}

}  // namespace
}  // namespace weft::test
