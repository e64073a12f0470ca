// UringSupport: whether io_uring is usable here, and if not, why. The probe performs the operations that the transport
// uses, because a kernel may have io_uring but forbid it or lack a feature that the transport needs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/scheduler/errors.hpp>

namespace weft {

class UringCalls;

// Inputs of a probe besides the ring's own calls. The defaults describe this machine; tests replace them.
struct UringSurroundings {
    std::string kernelRelease;  // as in uname -r; empty: read from the kernel
    std::string disabledSetting = "/proc/sys/kernel/io_uring_disabled";
};

class UringSupport {
  public:
    // Makes a ring and receives through it, which takes about a millisecond. Runs on a temporary thread, because
    // destroying a ring interrupts a blocking call of the thread that made it. Context: any thread; blocks; throws
    // std::bad_alloc.
    static UringSupport probe(UringCalls& calls, const UringSurroundings& surroundings = {});
    // The result for the real kernel; the first call probes. Context: any thread.
    static const UringSupport& ofThisProcess();

    bool available() const noexcept { return reason_.empty(); }
    // Why it is unavailable, as text for a message; empty when it is available.
    const std::string& reason() const noexcept { return reason_; }
    // The kernel's error for the call it refused; ENOSYS when no call failed, as with a kernel that is too old.
    ErrorCode error() const noexcept { return error_; }
    // One line per feature probed, up to the first that is missing.
    std::string report() const;

  private:
    std::string reason_;
    ErrorCode error_;
    std::vector<std::pair<std::string, std::string>> findings_;
};

}  // namespace weft
