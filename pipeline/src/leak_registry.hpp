// LeakRegistry: the last handler of each live message, buffer and promise, for LeakDetection::paranoid. It keeps
// addresses and dereferences only those of promises.
#pragma once

#include <array>
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

// As leakDetection(), but never throws: off until leakDetection() or setLeakDetection() has been called.
LeakDetection leakLevel() noexcept;
void countDropped() noexcept;

// Context: any thread. Never destroyed, because blocks are still released while the process exits.
class LeakRegistry {
  public:
    enum Kind : unsigned char { buffers, messages, promises };

    static LeakRegistry& instance();
    static bool watching() noexcept { return watching_.load(std::memory_order_relaxed); }  // a switch: orders no data
    static void watch(bool on) noexcept { watching_.store(on, std::memory_order_relaxed); }

    // A handler was given the object, or keeps the message.
    void given(Kind kind, const void* object, const HandlerPlace& place, std::size_t bytes = 0);
    // The object has been destroyed, has left the handlers, or a message was passed on.
    void ended(Kind kind, const void* object) noexcept;
    void messageMoved(const void* from, const void* to) noexcept;
    // The promise is being destroyed: logs it if it was given to a handler and is still pending.
    void promiseEnded(const PromiseState* promise) noexcept;

    std::vector<HeldByHandler> held(const std::uint64_t* channel = nullptr) const;  // null: of all channels
    // Logs what the handlers of the channel left behind.
    void channelEnded(std::uint64_t channel) noexcept;

  private:
    struct Sighting {
        HandlerPlace place;
        std::size_t bytes = 0;
    };
    using Sightings = std::unordered_map<const void*, Sighting>;

    static inline std::atomic<bool> watching_{false};
    mutable std::mutex lock_;
    std::array<Sightings, 3> seen_;  // by Kind
};

}  // namespace weft::detail
