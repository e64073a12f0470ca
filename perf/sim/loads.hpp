// Loads: the arrival times of requests for each carrier. All are open loops except ping-pong.
#pragma once

#include <cmath>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../load/latency_histogram.hpp"
#include "carrier.hpp"

namespace weft::perf::sim {

struct Shape {
    std::string load = "balanced";
    unsigned carriers = 16;
    unsigned clusters = 2;
    double utilisation = 0.5;   // of a carrier with an even share
    Nanoseconds work = 20'000;  // of a fiber, on average
    bool constantWork = false;  // else exponential
    bool remote = false;        // other threads submit fibers, without a handler on the home carrier
    Nanoseconds duration = 200'000'000;
    unsigned seed = 1;
};

// The source of load: submits requests, and records each one's latency from its due time.
class Loads final : public Workload {
  public:
    Loads(Simulation& simulation, const Shape& shape) : simulation_(simulation), shape_(shape), random_(shape.seed) {}

    void build(bool steals) {
        for (unsigned i = 0; i < shape_.carriers; ++i) carriers_.emplace_back(simulation_, *this, i, steals);
    }
    Carrier& carrier(unsigned index) override { return carriers_[index]; }
    void completed(Task& task) override {
        if (task.stage != Task::Stage::hog) {
            if (task.due >= warmUp()) times_.record(simulation_.now() - task.due);
            ++completed_;
            if (shape_.load == "ping-pong" && simulation_.now() < shape_.duration)
                echoes_.push_back({simulation_.now() + roundTrip, task.home});
            if (shape_.load == "ping-pong") simulation_.wake(outside_, simulation_.now() + roundTrip);
        }
        --underWay_;
        idle_.push_back(&task);
    }

    void start() {
        for (Carrier& each : carriers_) each.start();
        simulation_.start(outside_, [this] { generate(); });
    }

    LatencyHistogram times_;
    std::uint64_t completed_ = 0;
    Nanoseconds ended_ = 0;

  private:
    static constexpr Nanoseconds roundTrip = 20'000;
    static constexpr Nanoseconds hogLength = 10'000'000;
    static constexpr Nanoseconds hogInterval = 20'000'000;
    static constexpr unsigned burst = 64;

    struct Echo {
        Nanoseconds due;
        unsigned home;
    };
    // A stream of requests with exponential gaps, for one carrier.
    struct Stream {
        unsigned home;
        double gap;     // nanoseconds; 0: none
        unsigned size;  // requests that arrive together
        Nanoseconds next;
    };

    Nanoseconds warmUp() const { return shape_.duration / 10; }
    Nanoseconds perRequest() const { return shape_.work + handler + answer; }

    void generate() {
        if (shape_.load == "ping-pong") pingPong();
        else openLoop();
        while (underWay_ > 0) simulation_.advance(100'000);
        ended_ = simulation_.now();
        for (Carrier& each : carriers_) each.stop();
    }

    void openLoop() {
        auto streams = makeStreams();
        const auto later = [&](std::size_t a, std::size_t b) { return streams[a].next > streams[b].next; };
        std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> order(later);
        for (std::size_t i = 0; i < streams.size(); ++i) {
            streams[i].next = gap(streams[i]);
            order.push(i);
        }
        while (streams[order.top()].next < shape_.duration) {
            Stream& stream = streams[order.top()];
            order.pop();
            simulation_.advance(stream.next - simulation_.now());
            if (stream.size == 0) submitHog(stream.home);
            for (unsigned i = 0; i < stream.size; ++i) submit(stream.home);
            stream.next += stream.size == 0 ? hogInterval : gap(stream);
            order.push(static_cast<std::size_t>(&stream - streams.data()));
        }
    }

    // hot: one carrier of eight, the first of each eight.
    std::vector<Stream> makeStreams() {
        std::vector<Stream> streams;
        const auto each = static_cast<double>(perRequest());
        for (unsigned home = 0; home < shape_.carriers; ++home) {
            const bool hot = home % 8 == 0;
            double share = shape_.utilisation;
            unsigned size = 1;
            if (shape_.load == "skewed") share = hot ? 0.95 : shape_.utilisation * 0.3;
            if (shape_.load == "skewed-alone") share = hot ? 0.95 : 0;
            if (shape_.load == "overloaded") share = hot ? 2.0 : shape_.utilisation * 0.3;
            if (shape_.load == "hogged-alone") share = hot ? shape_.utilisation : 0;
            if (shape_.load == "bursty") size = burst;
            if (shape_.load.starts_with("hogged") && hot) streams.push_back({home, 1, 0, 0});
            if (share > 0) streams.push_back({home, each * size / share, size, 0});
        }
        return streams;
    }
    Nanoseconds gap(const Stream& stream) {
        return static_cast<Nanoseconds>(-std::log(1 - uniform_(random_)) * stream.gap);
    }

    // Two connections on each carrier, each with one request in flight.
    void pingPong() {
        for (unsigned home = 0; home < shape_.carriers * 2; ++home) submit(home % shape_.carriers);
        while (simulation_.now() < shape_.duration) {
            while (!echoes_.empty() && echoes_.front().due <= simulation_.now()) {
                submit(echoes_.front().home);
                echoes_.pop_front();
            }
            simulation_.wait(echoes_.empty() ? shape_.duration : std::min(echoes_.front().due, shape_.duration));
        }
    }

    void submit(unsigned home) {
        Task& task = make(home, work());
        if (!shape_.remote) return carriers_[home].submit(task);
        task.stage = Task::Stage::fiber;
        carriers_[home].submitStealable(task);
    }
    void submitHog(unsigned home) {
        Task& task = make(home, hogLength);
        task.stage = Task::Stage::hog;
        carriers_[home].submit(task);
    }
    Task& make(unsigned home, Nanoseconds work) {
        if (idle_.empty()) idle_.push_back(&tasks_.emplace_back());
        Task& task = *idle_.back();
        idle_.pop_back();
        task = Task{nullptr, simulation_.now(), work, home, Task::Stage::handler};
        ++underWay_;
        return task;
    }
    Nanoseconds work() {
        if (shape_.constantWork) return shape_.work;
        return static_cast<Nanoseconds>(-std::log(1 - uniform_(random_)) * static_cast<double>(shape_.work));
    }

    Simulation& simulation_;
    const Shape shape_;
    std::mt19937_64 random_;
    std::uniform_real_distribution<double> uniform_{0, 1};
    Process outside_{-1};
    std::deque<Carrier> carriers_;
    std::deque<Task> tasks_;
    std::vector<Task*> idle_;
    std::deque<Echo> echoes_;
    std::uint64_t underWay_ = 0;
};

}  // namespace weft::perf::sim
