// A chat with Asio's objects, written as blocking code: one fiber reads the lines of a member, another writes to it.
// All fibers share one carrier, so no lock is needed.
#include "support/program.hpp"

#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/use_fiber.hpp>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using weft::asio_io::FiberExecutor;
using weft::asio_io::use_fiber;

constexpr std::size_t longestLine = 1024;  // bytes, including its line end
constexpr std::size_t mostWaiting = 64;    // lines queued for a member that does not read; further ones are dropped
constexpr std::chrono::seconds stalledFor(5);
constexpr std::chrono::milliseconds pause(500);  // after a failed accept

class Member;

class Room {
  public:
    void tell(const std::string& line, const Member* author = nullptr);
    void join(Member& member) { members_.insert(&member); }
    void leave(Member& member) { members_.erase(&member); }
    // Sends a goodbye and ends the members' fibers.
    void close();
    bool closing() const noexcept { return closing_; }

  private:
    std::set<Member*> members_;
    bool closing_ = false;
};

class Member {
  public:
    Member(Room& room, tcp::socket socket, unsigned number)
        : room_(room),
          socket_(std::move(socket)),
          outbox_(socket_.get_executor(), mostWaiting),
          name_("guest" + std::to_string(number)) {}

    // Returns when the connection or the chat ends. Context: a fiber.
    void run() {
        weft::TaskScope scope;
        scope.spawn([this] { write(); });
        room_.join(*this);
        hear("* you are " + name_);
        room_.tell("* " + name_ + " has joined", this);
        if (!room_.closing()) read();
        room_.leave(*this);
        if (!room_.closing()) room_.tell("* " + name_ + " has left");
        outbox_.close();
        scope.join();  // until the queued lines have been written
    }
    void hear(const std::string& line) { outbox_.try_send(error_code(), line + "\n"); }
    void end() {
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_receive, ignored);
    }

  private:
    void read() {
        std::string buffered;
        bool tooLong = false;  // skips the rest of a line that was too long
        while (true) {
            error_code error;
            const std::size_t size =
                asio::async_read_until(socket_, asio::dynamic_buffer(buffered, longestLine), '\n', use_fiber[error]);
            if (error == asio::error::not_found) {
                if (!std::exchange(tooLong, true))
                    hear("* a line has at most " + std::to_string(longestLine) + " bytes");
                buffered.clear();
                continue;
            }
            if (error) return;
            std::string_view line(buffered.data(), size - 1);
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (!std::exchange(tooLong, false)) room_.tell(name_ + ": " + std::string(line), this);
            buffered.erase(0, size);
        }
    }
    void write() {
        error_code error;
        while (!error) {
            const std::string line = outbox_.async_receive(use_fiber[error]);
            if (!error) asio::async_write(socket_, asio::buffer(line), use_fiber[error].within(stalledFor));
        }
        end();
    }

    Room& room_;
    tcp::socket socket_;
    asio::experimental::channel<void(error_code, std::string)> outbox_;
    const std::string name_;
};

void Room::tell(const std::string& line, const Member* author) {
    for (Member* const member : members_) {
        if (member != author) member->hear(line);
    }
}

void Room::close() {
    closing_ = true;
    tell("* the chat is closing");
    for (Member* const member : members_) member->end();
}

// Starts a fiber for each member.
void accept(tcp::acceptor& acceptor, const FiberExecutor& fibers, Room& room) {
    for (unsigned number = 1;; ++number) {
        error_code error;
        tcp::socket socket = acceptor.async_accept(use_fiber[error]);
        if (!acceptor.is_open()) return;
        if (error) {
            weft::thisFiber::sleepFor(pause);  // for example out of descriptors
            continue;
        }
        asio::post(fibers, [&room, number, socket = std::move(socket)]() mutable {
            Member(room, std::move(socket), number).run();
        });
    }
}

int run(const CLI::App& app, const weft::SocketAddress& address) {
    weft::asio_io::Context context;
    const FiberExecutor fibers(context);
    Room room;
    tcp::acceptor acceptor(context);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&](error_code, int) {
        acceptor.close();
        room.close();
    });
    try {
        const tcp::endpoint endpoint(asio::ip::make_address(address.host()), address.port());
        acceptor.open(endpoint.protocol());
        acceptor.set_option(tcp::acceptor::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen();
    } catch (const weft::SystemError& error) {
        return examples::cannotListen(app, address, error);
    }
    asio::post(fibers, [&] { accept(acceptor, fibers, room); });
    const tcp::endpoint bound = acceptor.local_endpoint();
    examples::announce(weft::SocketAddress(bound.address().to_string(), bound.port()));
    context.run();
    return examples::success;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "A chat server that sends each line to all other members. Uses Asio's sockets in blocking style, from fibers.",
        "asio_chat");
    weft::SocketAddress listen("127.0.0.1", 7009);
    examples::addAddress(app, "--listen", listen,
                         "address to listen on; port 0 picks a free port; default 127.0.0.1:7009");
    return examples::runProgram(app, argc, argv, [&] { return run(app, listen); });
}
