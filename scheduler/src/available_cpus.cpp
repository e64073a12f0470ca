// availableCpus(): the size of the affinity mask, limited by a cgroup CPU quota (v2 or v1), so that a container with a
// quota of two CPUs on a large host does not get a carrier per host CPU (SCH-12).
#include <weft/scheduler/carrier_options.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "cpus.hpp"

namespace weft {

namespace {

unsigned cpusOfMask() {
    const std::size_t allowed = detail::allowedCpus().size();
    if (allowed != 0) return static_cast<unsigned>(allowed);
    return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

// The CPU quota of one cgroup directory, as a number of CPUs; infinity if it sets none.
double quotaOf(const std::string& folder) {
    double quota = 0;
    double period = 0;
    if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period && period > 0) return quota / period;
    std::ifstream v1Quota(folder + "/cpu.cfs_quota_us");
    std::ifstream v1Period(folder + "/cpu.cfs_period_us");
    if (v1Quota >> quota && v1Period >> period && quota > 0 && period > 0) return quota / period;
    return INFINITY;
}

}  // namespace

// The smallest quota from this process's cgroup up to the root of its hierarchy.
double detail::cgroupQuota() {
    double least = INFINITY;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && controllers.find("cpu") == std::string::npos) continue;
        const std::string mount = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
        for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
            least = std::min(least, quotaOf(mount + path));
            if (path.empty() || path.rfind('/') == std::string::npos) break;
        }
    }
    return least;
}

unsigned availableCpus() noexcept {
    unsigned mask = 1;
    try {
        mask = cpusOfMask();
        const double quota = detail::cgroupQuota();
        if (quota < mask) return static_cast<unsigned>(std::max(1.0, std::ceil(quota)));
    } catch (...) {
        // Out of memory while reading files: the mask is still a correct upper bound.
    }
    return mask;
}

}  // namespace weft
