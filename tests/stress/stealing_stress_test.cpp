// The stealable queue on real threads: producers, an owner and thieves, with a ring of four. No job is lost, none runs
// twice, and the thread that gets a job sees what its submitter wrote.
#include <weft/scheduler/detail/stealable_queue.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/testing/leak_guard.hpp>
#include "stress/stress.hpp"

namespace weft::stress {
namespace {

class StealingStress : public test::LeakGuard {};

struct Job {
    Job* next = nullptr;
    std::uint64_t written = 0;
    std::atomic<std::uint32_t> runs{0};
};
using Queue = detail::BasicStealableQueue<detail::NativeAtomics, Job, 4>;

constexpr std::size_t batch = 1000;

// One batch of jobs from each producer, until all of them have run.
class Crowd {
  public:
    explicit Crowd(std::uint32_t seed) : seed_(seed) {}

    void run(std::uint64_t round) {
        done_ = 0;
        std::vector<std::thread> threads;
        for (std::uint32_t p = 0; p < producers; ++p) threads.emplace_back([this, p, round] { produce(p, round); });
        for (std::uint32_t t = 0; t < thieves; ++t) threads.emplace_back([this, t, round] { steal(t, round); });
        own(round);
        for (std::thread& thread : threads) thread.join();
        for (auto& jobs : jobs_) {
            for (Job& job : jobs) ASSERT_EQ(job.runs.exchange(0), 1u);
        }
        ASSERT_TRUE(victim_.empty());
        ASSERT_TRUE(queues_[0].empty() && queues_[1].empty());
    }
    std::uint64_t stolen() const { return stolen_; }

  private:
    static constexpr std::uint32_t producers = 2;
    static constexpr std::uint32_t thieves = 2;

    void produce(std::uint32_t producer, std::uint64_t round) {
        Noise noise(seed_ + producer);
        for (Job& job : jobs_[producer]) {
            job.written = round;
            ASSERT_TRUE(victim_.submit(job));
            noise();
        }
    }
    void own(std::uint64_t round) {
        Noise noise(seed_ + 10);
        while (!allDone()) {
            victim_.takeSubmitted();
            while (Job* job = victim_.pop()) {
                if (job->runs.load(std::memory_order_relaxed) == 0 && noise.next() % 8 == 0 && !requeued_) {
                    requeued_ = true;
                    victim_.push(*job);
                    continue;
                }
                requeued_ = false;
                runJob(*job, round);
                noise();
            }
            std::this_thread::yield();
        }
    }
    void steal(std::uint32_t thief, std::uint64_t round) {
        Queue& own = queues_[thief];
        Queue& other = queues_[1 - thief];
        Noise noise(seed_ + 20 + thief);
        while (!allDone()) {
            if (own.stealFrom(noise.next() % 4 == 0 ? other : victim_) == detail::StealResult::nothing) {
                std::this_thread::yield();
            } else {
                stolen_.fetch_add(1, std::memory_order_relaxed);
            }
            noise();
            own.takeSubmitted();
            while (Job* job = own.pop()) runJob(*job, round);
        }
    }
    void runJob(Job& job, std::uint64_t round) {
        EXPECT_EQ(job.written, round);
        job.runs.fetch_add(1, std::memory_order_relaxed);
        done_.fetch_add(1, std::memory_order_release);
    }
    bool allDone() const { return done_.load(std::memory_order_acquire) == producers * batch; }

    const std::uint32_t seed_;
    Queue victim_;
    Queue queues_[thieves];
    std::array<std::array<Job, batch>, producers> jobs_;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> stolen_{0};
    bool requeued_ = false;
};

TEST_F(StealingStress, EachJobRunsOnceWhoeverGetsIt) {
    auto crowd = std::make_unique<Crowd>(seed());
    const std::uint64_t total = rounds(0.5) / batch + 1;
    for (std::uint64_t round = 1; round <= total && !HasFatalFailure(); ++round) crowd->run(round);
    EXPECT_GT(crowd->stolen(), 0u);
}

}  // namespace
}  // namespace weft::stress
