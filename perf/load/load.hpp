// What every load generator shares: the connections, the epoll wait, the measured window and the report. A derived
// generator decides only when to send: see light_client.cpp (closed loop and open loop).
#pragma once

#include <cinttypes>
#include <memory>
#include <vector>

#include "latency_histogram.hpp"
#include "load_connection.hpp"
#include "request_blocks.hpp"
#include "server_meter.hpp"

namespace weft::perf {

struct LoadOptions {
    sockaddr_in server{};
    std::string path;
    std::size_t echoBytes = 0;  // > 0: no HTTP, but messages of this size that the server echoes
    TlsUse tls = TlsUse::none;
    bool varied = false;  // requests with a browser's headers, a cookie per connection and an id per request
    unsigned connections = 64;
    unsigned depth = 1;
    std::int64_t warmup = 0;     // ns
    std::int64_t duration = 0;   // ns
    std::uint64_t requests = 0;  // send exactly this many, without a window; 0: run for `duration`
    std::int64_t rate = 0;       // requests per second; 0: closed loop
    std::int64_t spin = 0;       // ns; open loop: busy-waits shorter waits, since a sleep would end too late
    Expectation expected;
    std::vector<pid_t> serverPids;
    std::vector<pid_t> backendPids;
    std::string histogram;  // file for the latencies of the window; empty: none
};

class Load {
  public:
    explicit Load(LoadOptions options)
        : options_(std::move(options)), meter_(options_.serverPids), backendMeter_(options_.backendPids) {
        const std::string head = "GET " + options_.path + " HTTP/1.1\r\nHost: " + toText(options_.server) + "\r\n";
        if (options_.echoBytes > 0) message_ = echoMessage(options_.echoBytes);
        blocks_ = options_.varied ? RequestBlocks::varied(head, options_.depth, options_.connections)
                                  : RequestBlocks::same(message_.empty() ? head + "\r\n" : message_, options_.depth);
        epollFd_ = epoll_create1(EPOLL_CLOEXEC);
        for (unsigned i = 0; i < options_.connections; ++i) connections_.push_back(connect(i));
    }
    virtual ~Load() = default;

    // Returns false when there were errors or no answer.
    bool run() {
        start();
        while (!finished_) step();
        if (windowOpen_) closeWindow();
        report();
        if (!options_.histogram.empty()) writeHistogram();
        return errors_ == 0 && counted_ > 0;
    }

  protected:
    virtual void start() = 0;
    virtual void onResponses(LoadConnection& connection, unsigned count) = 0;
    virtual void onTurn() = 0;  // after each batch of events; time_ is up to date
    virtual std::int64_t waitLimit() const { return 50'000'000; }
    virtual const char* mode() const = 0;
    virtual void reportMore() const {}

    void openWindow() {
        usageBefore_ = meter_.read();
        backendBefore_ = backendMeter_.read();
        clientCpuBefore_ = readClock(CLOCK_PROCESS_CPUTIME_ID);
        latencies_.clear();
        counted_ = 0;
        windowOpen_ = true;
        time_ = windowStart_ = now();
    }

    void closeWindow() {
        windowEnd_ = now();
        clientCpu_ = readClock(CLOCK_PROCESS_CPUTIME_ID) - clientCpuBefore_;
        usage_ = meter_.read() - usageBefore_;
        backendUsage_ = backendMeter_.read() - backendBefore_;
        windowOpen_ = false;
    }

    std::unique_ptr<LoadConnection> connect(unsigned number) {
        return std::make_unique<LoadConnection>(number, epollFd_, options_.server, options_.tls, reader());
    }

    // Sends the connection's next `count` requests.
    void send(LoadConnection& connection, unsigned count) {
        connection.send(blocks_.next(connection.number, count), count);
    }

    LoadOptions options_;
    std::vector<std::unique_ptr<LoadConnection>> connections_;
    LatencyHistogram latencies_;
    std::uint64_t counted_ = 0;  // requests of the window
    std::uint64_t errors_ = 0;
    std::int64_t time_ = 0;  // now, as of the end of the last wait
    std::int64_t windowStart_ = 0;
    bool windowOpen_ = false;
    bool finished_ = false;

  private:
    LoadConnection::Reader reader() {
        if (options_.echoBytes > 0) return EchoReader(message_, options_.expected.checkBody);
        return ResponseReader(options_.expected, known_);
    }

    void step() {
        epoll_event events[256];
        const std::int64_t limit = waitLimit();
        const timespec timeout{limit / 1'000'000'000, limit % 1'000'000'000};
        const int count = epoll_pwait2(epollFd_, events, std::size(events), &timeout, nullptr);
        if (count < 0 && errno != EINTR) die("epoll_pwait2", errno);
        time_ = now();
        for (int i = 0; i < count; ++i) {
            auto& connection = *static_cast<LoadConnection*>(events[i].data.ptr);
            if (events[i].events & EPOLLOUT) connection.resumeSend();
            if (events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) receive(connection);
        }
        if (!finished_) onTurn();
    }

    void receive(LoadConnection& connection) {
        const ResponseReader::Batch batch = connection.receive(buffer_, sizeof buffer_);
        errors_ += batch.wrong;
        if (batch.wrong && !complained_) complain("a response was not the expected one (status 200, expected body)");
        if (batch.failure) {
            if (!complained_) complain(batch.failure);
            ++errors_;
            finished_ = true;  // fewer connections than requested: the figure would be invalid
            return;
        }
        if (batch.responses > 0) onResponses(connection, batch.responses);
    }

    void complain(const char* what) {
        std::fprintf(stderr, "light_client: %s\n", what);
        complained_ = true;
    }

    void report() const {
        const double seconds = static_cast<double>(windowEnd_ - windowStart_) * 1e-9;
        std::printf("{\"mode\": \"%s\", \"connections\": %u, \"depth\": %u, \"requests\": %" PRIu64
                    ", \"errors\": %" PRIu64 ", \"seconds\": %.6f, \"rps\": %.1f, \"p50_us\": %.1f, \"p90_us\": %.1f, "
                    "\"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f, \"client_cpu_seconds\": %.6f",
                    mode(), options_.connections, options_.depth, counted_, errors_, seconds,
                    seconds > 0 ? static_cast<double>(counted_) / seconds : 0.0, latencies_.microseconds(0.5),
                    latencies_.microseconds(0.9), latencies_.microseconds(0.99), latencies_.microseconds(0.999),
                    latencies_.maxMicroseconds(), static_cast<double>(clientCpu_) * 1e-9);
        reportMore();
        if (!meter_.empty())
            std::printf(", \"server\": {\"cpu_seconds\": %.6f, \"user_seconds\": %.2f, \"system_seconds\": %.2f, "
                        "\"voluntary_switches\": %ld, \"involuntary_switches\": %ld, \"threads\": %d}",
                        usage_.cpuSeconds, usage_.userSeconds, usage_.systemSeconds, usage_.voluntarySwitches,
                        usage_.involuntarySwitches, usage_.threads);
        if (!backendMeter_.empty()) std::printf(", \"backend\": {\"cpu_seconds\": %.6f}", backendUsage_.cpuSeconds);
        std::printf("}\n");
    }

    // Writes a line "NANOSECONDS COUNT" for each bucket that is not empty; NANOSECONDS is its largest latency.
    void writeHistogram() const {
        std::FILE* const file = std::fopen(options_.histogram.c_str(), "w");
        if (!file) die("--histogram " + options_.histogram, errno);
        latencies_.forEach([file](std::uint64_t nanoseconds, std::uint64_t count) {
            std::fprintf(file, "%" PRIu64 " %" PRIu64 "\n", nanoseconds, count);
        });
        if (std::fclose(file) != 0) die("--histogram " + options_.histogram, errno);
    }

    ServerMeter meter_;
    ServerUsage usageBefore_;
    ServerUsage usage_;
    ServerMeter backendMeter_;
    ServerUsage backendBefore_;
    ServerUsage backendUsage_;
    std::string message_;  // of an echo
    RequestBlocks blocks_;
    KnownResponse known_;
    std::int64_t clientCpuBefore_ = 0;
    std::int64_t clientCpu_ = 0;
    std::int64_t windowEnd_ = 0;
    int epollFd_ = -1;
    bool complained_ = false;
    char buffer_[256 * 1024];
};

}  // namespace weft::perf
