#include <weft/pipeline/leak_detection.hpp>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include <weft/pipeline/detail/printable.hpp>

#include "leak_registry.hpp"

namespace weft {

namespace {

constexpr const char* variable = "WEFT_LEAK_DETECTION";

// Switches and a statistic; relaxed: they order no other data.
std::atomic<LeakDetection> detection{LeakDetection::off};
std::atomic<bool> chosen{false};  // by setLeakDetection()
std::atomic<std::uint64_t> dropped{0};

void apply(LeakDetection wanted) noexcept {
    detection.store(wanted, std::memory_order_relaxed);
    detail::LeakRegistry::watch(wanted == LeakDetection::paranoid);
}

LeakDetection fromEnvironment() {
    const char* text = std::getenv(variable);
    const std::string value = text ? text : "";
    if (value.empty() || value == "simple") return LeakDetection::simple;
    if (value == "off") return LeakDetection::off;
    if (value == "paranoid") return LeakDetection::paranoid;
    throw std::invalid_argument(std::string(variable) + " is '" + detail::printable(value) +
                                "': expected off, simple or paranoid");
}

// Reads the environment variable once; not called any more after setLeakDetection().
void readEnvironmentOnce() {
    [[maybe_unused]] static const bool read = (apply(fromEnvironment()), true);
}

}  // namespace

LeakDetection detail::leakLevel() noexcept {
    return detection.load(std::memory_order_relaxed);
}

void detail::countDropped() noexcept {
    dropped.fetch_add(1, std::memory_order_relaxed);
}

LeakDetection leakDetection() {
    if (!leakDetectionBuilt) return LeakDetection::off;
    if (!chosen.load(std::memory_order_relaxed)) readEnvironmentOnce();
    return detail::leakLevel();
}

void setLeakDetection(LeakDetection level) {
    if (!leakDetectionBuilt) {
        if (level == LeakDetection::off) return;
        throw std::logic_error(
            "leak detection is not in this build: configure it with -DWEFT_LEAK_DETECTION=ON, or as a Debug build");
    }
    chosen.store(true, std::memory_order_relaxed);
    apply(level);
}

std::vector<HeldByHandler> heldByHandlers() {
    return detail::LeakRegistry::instance().held();
}

std::string describeHeld() {
    std::string text;
    for (const HeldByHandler& held : heldByHandlers()) text += detail::describeHeld(held) + "\n";
    return text;
}

std::uint64_t droppedMessages() noexcept {
    return dropped.load(std::memory_order_relaxed);
}

}  // namespace weft
