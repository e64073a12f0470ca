// LeakRegistry: the last handler of each live message, buffer and promise, for LeakDetection::paranoid. It keeps
// addresses and dereferences only those of promises.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <weft/pipeline/leak_detection.hpp>

namespace weft::detail {

class PromiseState;

// "name (type)", of one channel.
struct HandlerPlace {
    std::string handler;
    std::uint64_t channel;
};

std::string describeHeld(const HeldByHandler& held);

// Context: any thread. Never destroyed, because blocks are still released while the process exits.
class LeakRegistry {
  public:
    static LeakRegistry& instance();
    static bool watching() noexcept { return watching_.load(std::memory_order_relaxed); }  // a switch: orders no data
    static void watch(bool on) noexcept { watching_.store(on, std::memory_order_relaxed); }

    void bufferGiven(const void* block, std::size_t bytes, const HandlerPlace& place);
    void bufferEnded(const void* block) noexcept;
    void messageKept(const void* message, const HandlerPlace& place);
    void messageMoved(const void* from, const void* to) noexcept;
    void messageEnded(const void* message) noexcept;
    void promiseGiven(const PromiseState* promise, const HandlerPlace& place);
    void promiseTaken(const PromiseState* promise) noexcept;  // by the transport, which completes it
    // Logs a promise that is registered and still pending.
    void promiseEnded(const PromiseState* promise) noexcept;

    std::vector<HeldByHandler> held() const;
    // Logs what the handlers of the channel left behind.
    void channelEnded(std::uint64_t channel) noexcept;

  private:
    struct Sighting {
        HandlerPlace place;
        std::size_t bytes = 0;
    };
    using Sightings = std::unordered_map<const void*, Sighting>;

    std::vector<HeldByHandler> heldIf(const std::uint64_t* channel) const;  // null: all channels

    static inline std::atomic<bool> watching_{false};
    mutable std::mutex lock_;
    Sightings buffers_;
    Sightings messages_;
    Sightings promises_;
};

}  // namespace weft::detail
