// The CPUs that a thread may use; supports more than 1,024 CPUs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace weft::detail {

// The calling thread's affinity mask, ascending; empty if the kernel does not report it.
std::vector<unsigned> allowedCpus();
// Binds the calling thread to one CPU. On failure returns false and sets errno.
bool bindToCpu(unsigned cpu) noexcept;
// Permits these CPUs (ascending) to the calling thread. Does nothing if there are none or the kernel refuses.
void bindToCpus(const std::vector<unsigned>& cpus) noexcept;
// Parses a list in the kernel's format, such as "0-3,8"; ascending. nullopt for any other text.
std::optional<std::vector<unsigned>> parseCpuList(std::string_view text);
// The CPU quota of this process's cgroups, as a number of CPUs; infinity if they set none.
double cgroupQuota();

}  // namespace weft::detail
