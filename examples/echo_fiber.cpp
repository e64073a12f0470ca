// The echo server as blocking code: one fiber per connection reads and writes in turn. Each carrier has its own
// listener, and a connection stays on the carrier that accepted it.
#include "support/program.hpp"

#include <chrono>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace {

constexpr auto drainTime = weft::EventLoopGroup::defaultDrainTime;

// The listener and the connections of one carrier. Only fibers of that carrier use it, so it needs no lock.
class CarrierEcho {
  public:
    void listen(const weft::SocketAddress& address, bool shared) {
        listener_ = weft::TcpListener::listen(address, {.reusePort = shared});
        address_ = listener_.localAddress();
    }
    weft::SocketAddress address() const { return address_; }

    // Accepts until the listener is closed.
    void accept() {
        weft::ErrorCode error;
        while (listener_.isOpen()) {
            weft::TcpStream stream = listener_.accept(error);
            if (!error) {
                weft::spawn([this, stream = std::move(stream)]() mutable { serve(std::move(stream)); }).detach();
            } else if (listener_.isOpen()) {
                weft::thisFiber::sleepFor(std::chrono::milliseconds(500), error);  // most likely out of descriptors
            }
        }
    }

    // Closes the listener and every connection that waits for its peer; the other connections end after their current
    // write.
    void stop() {
        stopping_ = true;
        listener_.close();
        for (Session& session : sessions_) {
            if (!session.writing) session.stream.close();
        }
        completeIfLast();
    }
    weft::Future<void> allEnded() const { return allEnded_.future(); }

  private:
    struct Session {
        weft::TcpStream stream;
        bool writing = false;
    };

    void serve(weft::TcpStream stream) {
        const auto session = sessions_.insert(sessions_.end(), Session{std::move(stream)});
        while (!stopping_ && echoOnce(*session)) {
        }
        sessions_.erase(session);
        completeIfLast();
    }
    static bool echoOnce(Session& session) {
        weft::ErrorCode error;
        const weft::Buffer bytes = session.stream.read(4096, error);  // an idle connection holds no buffer
        if (error || bytes.empty()) return false;
        session.writing = true;
        session.stream.write(bytes.view(), error);
        session.writing = false;
        return !error;
    }
    void completeIfLast() {
        if (stopping_ && sessions_.empty()) allEnded_.setValue();
    }

    weft::TcpListener listener_;
    weft::SocketAddress address_;
    std::list<Session> sessions_;
    bool stopping_ = false;
    weft::Promise<void> allEnded_;
};

using CarrierEchoes = std::vector<std::unique_ptr<CarrierEcho>>;

// Listens on every carrier; the first one determines the port.
void open(CarrierEchoes& echoes, weft::CarrierGroup& carriers, weft::SocketAddress address) {
    // With SO_REUSEPORT, listen() would succeed on a port of another program. An exclusive listener fails then, so try
    // one first.
    if (address.port() != 0) carriers.carrier(0).spawn([&] { weft::TcpListener::listen(address).close(); }).join();
    for (std::size_t i = 0; i < carriers.size(); ++i) {
        echoes.push_back(std::make_unique<CarrierEcho>());
        carriers.carrier(i).spawn([&] { echoes.back()->listen(address, carriers.size() > 1); }).join();
        address = echoes.back()->address();
    }
}

void stop(CarrierEchoes& echoes, weft::CarrierGroup& carriers) {
    for (std::size_t i = 0; i < echoes.size(); ++i) carriers.carrier(i).spawn([&, i] { echoes[i]->stop(); }).join();
}

int run(const CLI::App& app, const examples::ServerFlags& flags) {
    CarrierEchoes echoes;  // outlives the fibers that use it, which end with the group
    weft::EventLoopGroup group(flags.group);
    weft::CarrierGroup& carriers = group.carriers();
    weft::ShutdownSignals signals;
    try {
        open(echoes, carriers, flags.listen);
    } catch (const weft::SystemError& error) {
        stop(echoes, carriers);
        return examples::cannotListen(app, flags.listen, error);
    }
    for (std::size_t i = 0; i < echoes.size(); ++i) carriers.carrier(i).spawnDetached([&, i] { echoes[i]->accept(); });
    examples::announce(echoes.front()->address());
    signals.wait();
    stop(echoes, carriers);
    const weft::Deadline deadline = weft::deadlineAfter(drainTime);
    for (const auto& echo : echoes) echo->allEnded().awaitUntil(deadline);
    while (!group.shutdown(drainTime)) {  // ends the waits of the remaining fibers
    }
    return examples::success;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Sends back what it receives, with a fiber per connection.", "echo_fiber");
    const examples::ServerFlags flags(app, weft::SocketAddress("127.0.0.1", 7008));
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
