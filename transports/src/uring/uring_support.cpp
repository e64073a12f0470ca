#include <weft/transports/uring/uring_support.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <liburing.h>

#include <weft/transports/fd.hpp>

#include "uring/uring_buffers.hpp"
#include "uring/uring_ring.hpp"

namespace weft {

namespace {

constexpr unsigned trialEntries = 4, trialBuffers = 2;
constexpr std::size_t trialBytes = 64;
constexpr std::string_view trialText = "weft";

struct Operation {
    unsigned char code;
    const char* name;
};
constexpr Operation needed[] = {{IORING_OP_ACCEPT, "ACCEPT"},
                                {IORING_OP_CONNECT, "CONNECT"},
                                {IORING_OP_RECV, "RECV"},
                                {IORING_OP_SEND, "SEND"},
                                {IORING_OP_SENDMSG, "SENDMSG"},
                                {IORING_OP_POLL_ADD, "POLL_ADD"},
                                {IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL"}};

std::string releaseOfKernel() {
    utsname names{};
    ::uname(&names);
    return names.release;
}

// Receives as the transport does.
class Trial : public UringOperation {
  public:
    Trial(int fd, UringBuffers& buffers) noexcept : UringOperation(kind, count_), fd_(fd), buffers_(buffers) {}
    bool pending() const noexcept { return result_ == -ETIME; }
    int result() const noexcept { return result_; }
    bool goesOn() const noexcept { return goesOn_; }
    bool received() const noexcept { return bytes_.view() == trialText; }

  private:
    static const Kind kind;
    void completed(int result, unsigned flags) noexcept {
        if (result == -ECANCELED) return;
        result_ = result;
        goesOn_ = flags & IORING_CQE_F_MORE;
        if (result > 0) bytes_ = buffers_.take(flags, static_cast<std::size_t>(result));
    }

    unsigned count_ = 0;
    const int fd_;
    UringBuffers& buffers_;
    Buffer bytes_;
    int result_ = -ETIME;
    bool goesOn_ = false;
};

const UringOperation::Kind Trial::kind = {[](UringOperation& operation, io_uring_sqe& entry) noexcept {
                                              const Trial& self = static_cast<Trial&>(operation);
                                              self.buffers_.prepareReceive(entry, self.fd_);
                                          },
                                          [](UringOperation& operation, int result, unsigned flags) {
                                              static_cast<Trial&>(operation).completed(result, flags);
                                          }};

// Returns false when the condition does not hold within a second.
template <class Condition>
bool waitFor(UringRing& ring, Condition condition) {
    for (int waits = 0; waits < 100 && !condition(); ++waits) {
        ring.wait(std::chrono::milliseconds(10));
        for (bool isEvent = false; ring.dispatchNext(isEvent);) {
        }
    }
    return condition();
}

// The checks, one per function, and what the report says besides. Each throws Missing with the reason if it fails.
// Context: a temporary thread.
class Probe {
  public:
    struct Missing {
        int error;
        std::string reason;
    };
    using Findings = std::vector<std::pair<std::string, std::string>>;

    Probe(UringCalls& calls, const UringSurroundings& surroundings, Findings& findings)
        : ring_(calls, counters_), surroundings_(surroundings), findings_(findings) {}

    // Throws Missing, std::bad_alloc.
    void run() {
        checkValgrind();
        checkKernelRelease();
        checkSetting();
        noteMemoryLimit();
        checkRing();
        checkOperations();
        tryReceive();
    }

  private:
    // Valgrind preloads its own library into the programs that it runs. Under it, a carrier that waits in
    // io_uring_enter stops all threads.
    void checkValgrind() {
        const char* const preloaded = std::getenv("LD_PRELOAD");
        if (preloaded == nullptr || std::string_view(preloaded).find("vgpreload") == std::string_view::npos) return;
        throw Missing{ENOSYS, "valgrind runs no other thread while one waits in io_uring_enter"};
    }

    // In 6.6 to 6.8, a multishot accept on a ring with DEFER_TASKRUN may return an invalid descriptor (liburing #1062).
    void checkKernelRelease() {
        const std::string release =
            surroundings_.kernelRelease.empty() ? releaseOfKernel() : surroundings_.kernelRelease;
        note("kernel", "Linux " + release);
        unsigned major = 0, minor = 0;
        if (std::sscanf(release.c_str(), "%u.%u", &major, &minor) != 2) return;  // the trial will show
        if (major < 6) throw Missing{ENOSYS, "Linux " + release + " is too old: 6.0 or later is needed"};
        if (major == 6 && minor >= 6 && minor <= 8) {
            throw Missing{
                ENOSYS, "Linux " + release + " has a faulty multishot accept: 6.0 to 6.5, or 6.9 or later, is needed"};
        }
    }

    void checkSetting() {
        std::ifstream file(surroundings_.disabledSetting);
        if (!(file >> setting_)) setting_ = "absent";  // as before Linux 6.6
        note("kernel.io_uring_disabled", setting_);
        if (setting_ == "2") throw Missing{EPERM, "the setting kernel.io_uring_disabled is 2"};
    }

    void noteMemoryLimit() {
        rlimit limit{};
        ::getrlimit(RLIMIT_MEMLOCK, &limit);
        memoryLimit_ = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur / 1024) + " KiB";
        note("RLIMIT_MEMLOCK", memoryLimit_);
    }

    void checkRing() {
        try {
            ring_.open(trialEntries);
        } catch (const SystemError& refused) {
            throw Missing{refused.code().value(), reasonOfRefusal(refused.code().value())};
        }
        // Before the first operation, which could not end.
        const int entered = ring_.calls().submitAndGetEvents(ring_.native());
        if (entered < 0) throw Missing{-entered, "the kernel refuses io_uring_enter: " + fromErrno(-entered).message()};
        const unsigned flags = ring_.native().flags;
        note("ring", flags & IORING_SETUP_DEFER_TASKRUN  ? "SINGLE_ISSUER, DEFER_TASKRUN"
                     : flags & IORING_SETUP_COOP_TASKRUN ? "COOP_TASKRUN"
                                                         : "without DEFER_TASKRUN and COOP_TASKRUN, so slower");
    }

    std::string reasonOfRefusal(int error) const {
        switch (error) {
            case ENOSYS: return "the kernel has no io_uring (io_uring_setup: ENOSYS), or a seccomp filter hides it";
            case EPERM:
                return setting_ == "1"
                           ? "io_uring_setup is not permitted: the setting kernel.io_uring_disabled is 1 and this "
                             "process is not in kernel.io_uring_group"
                           : "io_uring_setup is not permitted; the seccomp filter of a container may forbid it";
            case ENOMEM: return "io_uring_setup: out of memory; RLIMIT_MEMLOCK is " + memoryLimit_;
            default: return "io_uring_setup: " + fromErrno(error).message();
        }
    }

    void checkOperations() {
        constexpr unsigned most = 64;
        alignas(io_uring_probe) std::array<char, sizeof(io_uring_probe) + most * sizeof(io_uring_probe_op)> memory{};
        auto& answer = *reinterpret_cast<io_uring_probe*>(memory.data());
        const int result = ring_.calls().registerProbe(ring_.native(), answer, most);
        if (result < 0) throw Missing{-result, "io_uring_register: " + fromErrno(-result).message()};
        for (const Operation& operation : needed) {
            if (io_uring_opcode_supported(&answer, operation.code)) continue;
            throw Missing{ENOSYS, std::string("the kernel lacks the operation ") + operation.name};
        }
        note("operations", "all that Weft needs");
    }

    void tryReceive() {
        constexpr UringBuffers::Sizes sizes{trialBuffers, trialBuffers, trialBytes, false};
        auto buffers = std::make_unique<UringBuffers>(ring_, static_cast<unsigned short>(0), sizes);
        try {
            buffers->open();
        } catch (const SystemError& refused) {
            throw Missing{refused.code().value(), refused.what()};
        }
        int pair[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            throw Missing{errno, "cannot create sockets for a trial: " + fromErrno(errno).message()};
        }
        const Fd near(pair[0]), far(pair[1]);
        auto trial = std::make_unique<Trial>(near.get(), *buffers);
        ring_.start(*trial);
        ring_.submitAndFetch();
        while (::send(far.get(), trialText.data(), trialText.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
        }
        waitFor(ring_, [&] { return !trial->pending(); });
        ring_.cancel(*trial);
        if (!waitFor(ring_, [&] { return !trial->inFlight(); })) {
            static_cast<void>(trial.release());  // the kernel still uses both
            static_cast<void>(buffers.release());
            throw Missing{ETIME, "a cancelled trial receive does not complete"};
        }
        if (trial->result() < 0)
            throw Missing{-trial->result(), "a trial receive failed: " + fromErrno(-trial->result()).message()};
        if (!trial->received() || !trial->goesOn()) throw Missing{ENOSYS, "a trial receive returned unexpected data"};
        note("trial", "received into a ring of buffers");
    }
    void note(std::string name, std::string value) { findings_.emplace_back(std::move(name), std::move(value)); }

    UringCounters counters_;
    UringRing ring_;
    const UringSurroundings& surroundings_;
    Findings& findings_;
    std::string setting_;
    std::string memoryLimit_;
};

}  // namespace

UringSupport UringSupport::probe(UringCalls& calls, const UringSurroundings& surroundings) {
    UringSupport support;
    std::exception_ptr failure;
    const auto runTrial = [&] {
        try {
            Probe(calls, surroundings, support.findings_).run();
        } catch (const Probe::Missing& missing) {
            support.error_ = fromErrno(missing.error);
            support.reason_ = missing.reason;
        } catch (...) {
            failure = std::current_exception();
        }
    };
    try {
        std::thread(runTrial).join();
    } catch (const std::system_error& refused) {
        support.error_ = fromErrno(refused.code().value());
        support.reason_ = std::string("cannot start a thread for a trial: ") + refused.what();
    }
    if (failure) std::rethrow_exception(failure);
    return support;
}

const UringSupport& UringSupport::ofThisProcess() {
    static const UringSupport support = probe(UringCalls::kernel());
    return support;
}

std::string UringSupport::report() const {
    std::string text = available() ? "io_uring: available" : "io_uring: not available: " + reason_;
    for (const auto& [what, how] : findings_) text.append("\n  ").append(what).append(": ").append(how);
    return text;
}

}  // namespace weft
