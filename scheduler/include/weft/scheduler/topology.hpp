// Topology: which CPU each carrier of a group runs on, and which carriers share a cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct CarrierPlace {
    std::optional<unsigned> cpu;  // the kernel's CPU number; unset: the carrier inherits its creator's affinity mask
    unsigned cluster = 0;         // carriers with the same number share a last-level cache
};

// A group's constructor calls place() once, on the constructing thread.
class Topology {
  public:
    virtual ~Topology() = default;
    // Returns exactly `carriers` places (1 or more), indexed like the carriers. The group's constructor passes
    // exceptions on.
    virtual std::vector<CarrierPlace> place(unsigned carriers) const = 0;
};

// Places carriers according to sysfs, on the CPUs of the affinity mask (which includes the limits of a cpuset): first
// one carrier per physical core, fast cores of a hybrid machine before slow ones, then the other hardware threads in
// the same order. A cluster is the set of CPUs that share the highest cache level from level 3 on, or all CPUs without
// such a cache. Carriers beyond the number of CPUs float. With a CPU quota below the size of the mask all carriers
// float, because all such containers would choose the same CPUs. Both cases, and an unknown affinity mask, cause one
// warning.
class LinuxTopology final : public Topology {
  public:
    struct Options {
        std::string sysfsRoot = "/sys";
        std::optional<std::vector<unsigned>> allowedCpus;  // unset: the calling thread's affinity mask
        std::optional<double> quota;                       // number of CPUs, may be a fraction; unset: the cgroup's
        unsigned skip = 0;  // index of the first CPU used, wrapping around: for several processes on one machine
    };

    LinuxTopology() = default;
    explicit LinuxTopology(Options options) : options_(std::move(options)) {}

    // Treats files that cannot be read as absent. Throws only std::bad_alloc.
    std::vector<CarrierPlace> place(unsigned carriers) const override;

  private:
    Options options_;
};

}  // namespace weft
