// UringSupport: whether io_uring may be used here, and if not, why. It asks the kernel by doing what the transport does:
// a kernel may have io_uring and forbid it, or lack what the transport needs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/scheduler/errors.hpp>

namespace weft {

class UringCalls;

// What a probe asks besides the ring's own calls. The defaults are those of this machine; tests say others.
struct UringSurroundings {
    std::string kernelRelease;  // as uname -r says it; empty: asked of the kernel
    std::string disabledSetting = "/proc/sys/kernel/io_uring_disabled";
};

class UringSupport {
  public:
    // Makes a ring on a thread of its own and receives through it; takes about a millisecond. The thread: the end of a
    // ring interrupts a blocking call of the thread that made it. Context: any thread; blocks; throws std::bad_alloc.
    static UringSupport probe(UringCalls& calls, const UringSurroundings& surroundings = {});
    // The kernel's, probed by the first call. Context: any thread.
    static const UringSupport& ofThisProcess();

    bool available() const noexcept { return reason_.empty(); }
    // Why not, for a message; empty when it is available.
    const std::string& reason() const noexcept { return reason_; }
    // The kernel's, of what it refused; ENOSYS where that is no error of a call, as with a kernel that is too old.
    ErrorCode error() const noexcept { return error_; }
    // One line for each thing that was asked, up to the first that is missing.
    std::string report() const;

  private:
    std::string reason_;
    ErrorCode error_;
    std::vector<std::pair<std::string, std::string>> findings_;
};

}  // namespace weft
