// The CPUs that a thread may use, however many the machine has.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace weft::detail {

// Of the calling thread, ascending; empty when the kernel does not say.
std::vector<unsigned> allowedCpus();
// Binds the calling thread to one CPU. False: errno says why not.
bool bindToCpu(unsigned cpu) noexcept;
// "0-3,8" as the kernel writes it, ascending; nothing for anything else.
std::optional<std::vector<unsigned>> parseCpuList(std::string_view text);
// CPUs' worth of time that the cgroups of this process allow; infinity when they set no quota.
double cgroupQuota();

}  // namespace weft::detail
