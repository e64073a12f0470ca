// Fiber streams whose two ends read and write at the same time and end in every way. Each end announces its acts
// beforehand, so the other one knows whether the end that it reads is orderly.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "chaos/chaos.hpp"
#include "support/pattern.hpp"
#include "support/watchdog.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

constexpr unsigned carriers = 2;
constexpr unsigned linksEach = 6;
constexpr std::size_t most = 400'000;  // bytes that an end sends: more than the kernel's buffers hold

const std::string bytes = pattern(most);

// The kernel reports EPIPE when the peer's end arrived before its reset.
bool isReset(ErrorCode error) {
    return error == fromErrno(ECONNRESET) || error == fromErrno(EPIPE);
}

// How an end finishes after it has sent everything.
enum class Ending : unsigned char {
    orderly,       // ends its output, reads to the end, closes
    rude,          // closes, even with unread bytes
    reset,         // resets
    endThenReset,  // ends its output, then resets
    count_,
};

struct Story {
    explicit Story(Dice& dice)
        : ending(static_cast<Ending>(dice.below(static_cast<unsigned>(Ending::count_)))),
          size(dice.size(most)),
          hasty(dice.oneIn(4)),
          seed(dice.below(1u << 31)) {}

    const Ending ending;
    const std::size_t size;  // bytes to send
    const bool hasty;        // its waits time out, again and again
    const unsigned seed;
    // Set before the act.
    std::atomic<std::size_t> written{0};  // final once endsOutput is true
    std::atomic<bool> endsOutput{false};
    std::atomic<bool> mayReset{false};
    std::atomic<bool> closes{false};
};

// One end of a connection, with a fiber that reads and one that writes.
class StreamEnd {
  public:
    StreamEnd(TcpStream stream, Story& own, const Story& peer) : stream_(std::move(stream)), own_(own), peer_(peer) {}

    void run() {
        auto reader = thisFiber::carrier()->spawn([this] { read(); });
        write();
        reader.join();
        judge();
        repeat();
        stream_.close();
    }

  private:
    void read() {
        Dice dice(own_.seed);
        std::array<char, 20'000> room;
        while (!readError_) {
            const std::size_t count = readSome(std::span(room).first(1 + dice.size(room.size() - 1)), dice);
            if (readError_ == timedOut()) {
                readError_.clear();
                continue;
            }
            if (count == 0) break;
            if (bytes.compare(received_, count, room.data(), count) != 0) wrong("bytes arrive changed");
            received_ += count;
        }
    }
    std::size_t readSome(std::span<char> room, Dice& dice) {
        if (own_.hasty) stream_.setDeadline(deadlineAfter(std::chrono::microseconds(dice.below(2000))));
        if (dice.oneIn(2)) return stream_.read(room, readError_);
        const Buffer piece = stream_.read(room.size(), readError_);
        std::copy(piece.view().begin(), piece.view().end(), room.begin());
        return piece.readableBytes();
    }

    void write() {
        Dice dice(own_.seed + 1);
        while (!writeError_ && own_.written < own_.size) {
            const std::size_t piece = std::min<std::size_t>(own_.size - own_.written, 1 + dice.size(100'000));
            own_.written += stream_.write(std::span(bytes).subspan(own_.written, piece), writeError_);
            if (writeError_ == timedOut()) writeError_.clear();
            if (dice.oneIn(8)) thisFiber::yield();
        }
        if (!writeError_) end(dice);
    }
    void end(Dice& dice) {
        if (dice.oneIn(4)) thisFiber::sleepFor(std::chrono::microseconds(dice.below(500)));
        if (own_.ending != Ending::orderly) own_.mayReset = true;
        if (own_.ending != Ending::reset) own_.endsOutput = true;
        if (own_.ending == Ending::orderly || own_.ending == Ending::endThenReset) {
            ErrorCode ignored;  // the peer may have reset the connection by now
            stream_.shutdownOutput(ignored);
        }
        if (own_.ending == Ending::orderly) return;
        if (own_.ending == Ending::endThenReset && dice.oneIn(2)) thisFiber::yield();
        if (own_.ending != Ending::rude) stream_.setOption(SocketOption::linger, 0);
        own_.closes = true;
        stream_.close();
    }

    void judge() {
        if (own_.closes)
            return expect(!readError_ || isReset(readError_) || readError_ == operationAborted(), "another error");
        if (!readError_) {
            expect(peer_.endsOutput, "a reset is read as an orderly end");
            expect(received_ == peer_.written, "an orderly end before the last byte");
        } else {
            expect(isReset(readError_) && peer_.mayReset, "a read fails although the peer has not reset");
        }
        expect(!writeError_ || (isReset(writeError_) && peer_.mayReset),
               "a write fails although the peer has not reset");
        expect(!readError_ || !writeError_ || readError_ == writeError_, "one reset, two errors");
    }
    // A reset gives the same error for ever.
    void repeat() {
        if (own_.closes || !readError_) return;
        char byte = 0;
        ErrorCode again;
        stream_.setDeadline(never);
        const std::size_t count = stream_.read(std::span(&byte, 1), again);
        expect(count == 0 && again == readError_,
               "the second read is another error: " + again.message() + std::to_string(count));
        stream_.write(std::string_view("x"), again);
        expect(again == readError_, "a write after a failed read is another error");
    }
    void expect(bool holds, const std::string& what) {
        if (holds) return;
        wrong(what + "\nread " + readError_.message() + ", write " + writeError_.message() + ", received " +
              std::to_string(received_) + " of " + std::to_string(peer_.written) + "; the peer ends by " +
              std::to_string(static_cast<int>(peer_.ending)) + ", this end by " +
              std::to_string(static_cast<int>(own_.ending)));
    }

    TcpStream stream_;
    Story& own_;
    const Story& peer_;
    std::size_t received_ = 0;
    ErrorCode readError_;
    ErrorCode writeError_;
};

void link(TcpListener& listener, Carrier& other, Dice& dice) {
    Story near(dice), far(dice);
    auto client = other.spawn([&, address = listener.localAddress()] {
        ErrorCode error;
        TcpStream stream = TcpStream::connect(address, error);
        if (!error) return StreamEnd(std::move(stream), near, far).run();
        if (!isReset(error) || !far.mayReset) wrong("a connect fails: " + error.message());
    });
    StreamEnd(listener.accept(), far, near).run();
    client.join();
}

TEST(SocketChaos, AResetIsOneErrorAndNeverAnOrderlyEnd) {
    ChaosRun run("connections");
    SocketLoops host(carriers);
    Watchdog watchdog(host.group());
    std::vector<JoinHandle<void>> fibers;
    for (unsigned i = 0; i < carriers * linksEach; ++i) {
        fibers.push_back(host.carrier(i % carriers).spawn([&, i] {
            TcpListener listener = TcpListener::listen(anyPort);
            for (Dice dice(i); run.goesOn(); run.count()) {
                link(listener, host.carrier(dice.below(carriers)), dice);
                watchdog.advance();
            }
        }));
    }
    for (auto& fiber : fibers) fiber.join();
}

}  // namespace
}  // namespace weft::test
