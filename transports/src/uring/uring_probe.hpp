// UringProbe: the checks of UringSupport, one per function. Each throws Missing with the reason if it fails.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/scheduler/errors.hpp>
#include <weft/transports/uring/uring_support.hpp>

#include "uring/uring_ring.hpp"

namespace weft {

// Context: a temporary thread.
class UringProbe {
  public:
    struct Missing {
        int error;
        std::string reason;
    };
    using Findings = std::vector<std::pair<std::string, std::string>>;

    UringProbe(UringCalls& calls, const UringSurroundings& surroundings, Findings& findings)
        : ring_(calls, counters_), surroundings_(surroundings), findings_(findings) {}

    // Throws Missing, std::bad_alloc.
    void run();

  private:
    void findInstrument();
    void findKernelRelease();
    void findSetting();
    void findMemoryLimit();
    void findRing();
    void findOperations();
    void tryReceive();
    void found(std::string what, std::string how) { findings_.emplace_back(std::move(what), std::move(how)); }
    std::string reasonOfRefusal(int error) const;

    UringCounters counters_;
    UringRing ring_;
    const UringSurroundings& surroundings_;
    Findings& findings_;
    std::string setting_;
    std::string memoryLimit_;
};

}  // namespace weft
