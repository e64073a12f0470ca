// The load generator of the rig: one thread, one epoll, precomputed requests, far lighter than any server it drives.
// Closed loop (default): each connection keeps `depth` requests in flight as one block and sends the next block when
// the last answer of the block has arrived. Open loop (--rate R): a block falls due every depth/R s whatever the server
// does, and latency counts from the due time, so a slow server cannot hide behind requests that were never sent.
// A request is an HTTP GET, or with --echo a message that the server sends back. All GETs are equal unless --varied
// gives them a browser's headers, a cookie for each connection and an id for each request. --tls: over TLS.
// --handshakes: over TLS, each request on a connection of its own. Prints one JSON object; exit 1 when there were
// errors.

#include <deque>

#include "load.hpp"

namespace weft::perf {
namespace {

class ClosedLoop : public Load {
  public:
    using Load::Load;

  protected:
    const char* mode() const override { return options_.requests ? "fixed" : "closed"; }

    void start() override {
        startedAt_ = now();
        if (options_.requests) openWindow();
        time_ = now();
        for (auto& connection : connections_) sendBlock(*connection);
    }

    void onResponses(LoadConnection& connection, unsigned count) override {
        if (windowOpen_) {
            counted_ += count;
            latencies_.record(time_ - connection.blockStart, count);
        }
        if (connection.outstanding() == 0) sendBlock(successorOf(connection));
    }

    // The connection that sends the next block in its place.
    virtual LoadConnection& successorOf(LoadConnection& connection) { return connection; }

    void onTurn() override {
        if (options_.requests) {
            finished_ = counted_ == options_.requests;
        } else if (windowOpen_) {
            finished_ = time_ >= windowStart_ + options_.duration;
        } else if (time_ >= startedAt_ + options_.warmup) {
            openWindow();
        }
    }

    void sendBlock(LoadConnection& connection) {
        unsigned count = options_.depth;
        if (options_.requests) count = static_cast<unsigned>(std::min<std::uint64_t>(count, options_.requests - sent_));
        if (count == 0) return;
        sent_ += count;
        connection.blockStart = time_;
        send(connection, count);
    }

  private:
    std::int64_t startedAt_ = 0;
    std::uint64_t sent_ = 0;
};

// The same, but a connection ends with the answer, and another one takes its place.
class Handshakes final : public ClosedLoop {
  public:
    using ClosedLoop::ClosedLoop;

  private:
    const char* mode() const override { return "handshakes"; }

    LoadConnection& successorOf(LoadConnection& connection) override {
        if (windowOpen_ && connection.isResumed()) ++resumed_;
        return *(connections_[connection.number] = connect(connection.number));
    }

    void reportMore() const override { std::printf(", \"resumed\": %" PRIu64, resumed_); }

    std::uint64_t resumed_ = 0;
};

class OpenLoop final : public Load {
  public:
    using Load::Load;

  private:
    static constexpr std::int64_t grace = 2'000'000'000;  // for the last requests of the window to be answered

    const char* mode() const override { return "open"; }

    void start() override {
        firstDue_ = now();
        for (auto& connection : connections_) free_.push_back(connection.get());
    }

    // When block `index` of the schedule is to be sent.
    std::int64_t due(std::uint64_t index) const {
        const double seconds = static_cast<double>(index) * options_.depth / static_cast<double>(options_.rate);
        return firstDue_ + static_cast<std::int64_t>(seconds * 1e9);
    }

    std::int64_t windowEnd() const { return firstDue_ + options_.warmup + options_.duration; }
    bool inWindow(std::int64_t dueAt) const { return dueAt >= firstDue_ + options_.warmup; }

    std::int64_t waitLimit() const override {
        if (free_.empty() || over_) return 10'000'000;
        const std::int64_t wait = due(next_) - now();
        return wait <= options_.spin ? 0 : std::min<std::int64_t>(wait, 50'000'000);
    }

    void onResponses(LoadConnection& connection, unsigned count) override {
        if (inWindow(connection.blockStart)) {
            counted_ += count;
            pending_ -= count;
            latencies_.record(time_ - connection.blockStart, count);
        }
        if (connection.outstanding() == 0) free_.push_back(&connection);
    }

    void onTurn() override {
        if (!windowOpen_ && !over_ && time_ >= firstDue_ + options_.warmup) openWindow();
        while (!over_ && due(next_) <= std::min(time_, windowEnd() - 1))
            if (!sendNext()) break;
        if (!over_ && time_ >= windowEnd()) endWindow();
        if (over_ && pending_ > 0 && time_ >= windowEnd() + grace) giveUpUnanswered();
        finished_ = over_ && pending_ == 0;
    }

    bool sendNext() {
        if (free_.empty()) {
            blocked_ = true;  // from now on the server causes the lateness, not the generator
            return false;
        }
        LoadConnection& connection = *free_.front();
        free_.pop_front();
        connection.blockStart = due(next_++);
        if (!blocked_ && windowOpen_) lateness_.record(time_ - connection.blockStart);
        blocked_ = blocked_ && due(next_) <= time_;
        if (inWindow(connection.blockStart)) pending_ += options_.depth;
        send(connection, options_.depth);
        return true;
    }

    // Requests that fell due while every connection was busy and were never sent count with their lateness so far.
    void endWindow() {
        for (; due(next_) < windowEnd(); ++next_) {
            unanswered_ += options_.depth;
            latencies_.record(time_ - due(next_), options_.depth);
        }
        closeWindow();
        over_ = true;
    }

    void giveUpUnanswered() {
        for (const auto& connection : connections_)
            if (connection->outstanding() > 0 && inWindow(connection->blockStart))
                latencies_.record(time_ - connection->blockStart, connection->outstanding());
        unanswered_ += pending_;
        pending_ = 0;
    }

    void reportMore() const override {
        std::printf(", \"rate\": %" PRId64 ", \"unanswered\": %" PRIu64 ", \"send_late_p99_us\": %.1f", options_.rate,
                    unanswered_, lateness_.microseconds(0.99));
    }

    std::deque<LoadConnection*> free_;  // connections with nothing in flight, least recently used first
    LatencyHistogram lateness_;         // of the generator itself
    std::int64_t firstDue_ = 0;
    std::uint64_t next_ = 0;     // index of the next block of the schedule
    std::uint64_t pending_ = 0;  // requests of the window that are sent and unanswered
    std::uint64_t unanswered_ = 0;
    bool blocked_ = false;
    bool over_ = false;  // the schedule has ended
};

std::vector<pid_t> pidList(Flags& flags, const std::string& name) {
    const std::string text = flags.text(name, "");
    std::vector<pid_t> pids;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, pid);
        if (error != std::errc{} || end != text.data() + comma || pid <= 0)
            flags.fail(name + " " + text + ": expected process ids separated by commas");
        pids.push_back(pid);
        at = comma + 1;
    }
    return pids;
}

bool isHandshakes(TlsUse use) {
    return use == TlsUse::fullHandshakes || use == TlsUse::resumedHandshakes;
}

LoadOptions readOptions(Flags& flags) {
    LoadOptions options;
    options.server = endpointFlag(flags, "--connect");
    const std::string path = flags.text("--path", "");
    options.path = path.empty() ? "/plaintext" : path;
    options.echoBytes = static_cast<std::size_t>(flags.number("--echo", 0, 1, 64 * 1024 * 1024));
    options.varied = flags.present("--varied");
    options.tls = flags.present("--tls") ? TlsUse::keepAlive : TlsUse::none;
    if (const std::string kind = flags.text("--handshakes", ""); !kind.empty()) {
        if (kind != "full" && kind != "resumed") flags.fail("--handshakes " + kind + ": expected full or resumed");
        options.tls = kind == "full" ? TlsUse::fullHandshakes : TlsUse::resumedHandshakes;
    }
    options.connections = static_cast<unsigned>(flags.number("--connections", 64, 1, 60000));
    options.depth = static_cast<unsigned>(flags.number("--depth", 1, 1, 1024));
    options.duration = flags.number("--duration-ms", 1000, 1, 3'600'000) * 1'000'000;
    options.warmup = flags.number("--warmup-ms", 200, 0, 600'000) * 1'000'000;
    options.requests = static_cast<std::uint64_t>(flags.number("--requests", 0, 1, 1'000'000'000'000));
    options.rate = flags.number("--rate", 0, 1, 100'000'000);
    options.spin = flags.number("--spin-us", 100, 0, 1'000'000) * 1000;
    options.expected.checkBody = flags.present("--check");
    options.expected.body = flags.text("--body", options.expected.body);
    options.serverPids = pidList(flags, "--server-pid");
    options.backendPids = pidList(flags, "--backend-pid");
    options.histogram = flags.text("--histogram", "");
    flags.number("--threads", 1, 1, 1);  // one thread is the design; the flag lets scripts state it
    flags.finish();
    if (options.echoBytes && !path.empty()) flags.fail("--echo and --path exclude each other: an echo knows no paths");
    if (options.echoBytes && options.varied)
        flags.fail("--echo and --varied exclude each other: an echo has no headers");
    if (isHandshakes(options.tls) && (options.rate || options.depth > 1))
        flags.fail("--handshakes excludes --rate and --depth: a connection has one request");
    if (options.rate && options.requests) flags.fail("--rate and --requests exclude each other");
    return options;
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv,
                "--connect ADDR:PORT [--connections 64] [--depth 1] [--path /plaintext [--varied] | --echo BYTES]\n"
                "    [--tls | --handshakes full|resumed]\n"
                "    [--check] [--body TEXT]\n"
                "    [--warmup-ms 200] [--duration-ms 1000] [--requests N | --rate R [--spin-us 100]]\n"
                "    [--server-pid PID,..] [--backend-pid PID,..] [--histogram FILE] [--threads 1]");
    const LoadOptions options = readOptions(flags);
    std::unique_ptr<Load> load;
    if (options.rate) load = std::make_unique<OpenLoop>(options);
    else if (isHandshakes(options.tls)) load = std::make_unique<Handshakes>(options);
    else load = std::make_unique<ClosedLoop>(options);
    return load->run() ? 0 : 1;
}
