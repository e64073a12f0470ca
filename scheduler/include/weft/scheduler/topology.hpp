// Topology: on which CPU each carrier of a group runs, and which carriers share a cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct CarrierPlace {
    std::optional<unsigned> cpu;  // the kernel's number; unset: the carrier floats, where its thread's creator may run
    unsigned cluster = 0;         // carriers with the same number share a last-level cache
};

// Asked once by a group's constructor, on the calling thread.
class Topology {
  public:
    virtual ~Topology() = default;
    // One place for each carrier, by its index: exactly `carriers`, 1 or more. What it throws the group's constructor throws.
    virtual std::vector<CarrierPlace> place(unsigned carriers) const = 0;
};

// The machine as Linux describes it in sysfs: within the affinity mask (which is how a cpuset shows), first one carrier for
// each physical core, the fast cores of a hybrid machine before the slow ones, then the other hardware threads of these;
// clusters are CPUs that share the highest cache from level 3 on, and all CPUs where there is none. Whatever it cannot do
// it says in one warning: carriers beyond the CPUs float; under a CPU quota that is smaller than the mask all of them do,
// since such containers would all choose the same CPUs.
class LinuxTopology final : public Topology {
  public:
    struct Options {
        std::string sysfsRoot = "/sys";
        std::optional<std::vector<unsigned>> allowedCpus;  // unset: the calling thread's affinity mask
        std::optional<double> quota;                       // CPUs' worth of time; unset: the cgroup's
        unsigned skip = 0;  // begins so many places later, round: for several processes on one machine
    };

    LinuxTopology() = default;
    explicit LinuxTopology(Options options) : options_(std::move(options)) {}

    // Never fails: what cannot be read is taken for absent. Throws std::bad_alloc.
    std::vector<CarrierPlace> place(unsigned carriers) const override;

  private:
    Options options_;
};

}  // namespace weft
