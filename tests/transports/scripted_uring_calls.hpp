// ScriptedUringCalls: completes ring entries as a test scripts, and passes all others to the kernel.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <weft/transports/fd.hpp>
#include <weft/transports/uring/uring_calls.hpp>

namespace weft::test {

// Any thread may script; a script applies to entries submitted from then on.
class ScriptedUringCalls final : public UringCalls {
  public:
    // The next `times` entries of that operation are not executed but complete with `result`. Linux 6.11 or later.
    void complete(unsigned char operation, int result, unsigned times = 1) { add({operation, result, 0, times}); }
    // The next `times` entries of that operation are not executed and complete only when they are cancelled.
    void ignore(unsigned char operation, unsigned times = 1) { add({operation, 0, 0, times, true}); }
    // The next `times` sends or receives transfer at most `bytes` each.
    void limit(unsigned char operation, unsigned bytes, unsigned times) { add({operation, 0, bytes, times}); }
    // The number of scripted completions not yet used.
    unsigned left() const {
        const std::lock_guard held(lock_);
        unsigned sum = 0;
        for (const Answer& answer : script_) sum += answer.times;
        return sum;
    }

    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        apply(ring);
        return UringCalls::submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override {
        apply(ring);
        return UringCalls::submitAndGetEvents(ring);
    }

  private:
    static constexpr unsigned injectResult = 1;  // IORING_NOP_INJECT_RESULT

    struct Answer {
        unsigned char operation;
        int result;
        unsigned bytes;  // 0: `result` applies
        unsigned times;
        bool ignored = false;
    };

    void add(const Answer& answer) {
        const std::lock_guard held(lock_);
        script_.push_back(answer);
    }
    void apply(io_uring& ring) noexcept {
        const std::lock_guard held(lock_);
        for (unsigned at = ring.sq.sqe_head; at != ring.sq.sqe_tail; ++at) {
            io_uring_sqe& entry = ring.sq.sqes[at & ring.sq.ring_mask];
            const auto answer = std::find_if(script_.begin(), script_.end(), [&](const Answer& next) {
                return next.operation == entry.opcode && next.times > 0;
            });
            if (answer == script_.end()) continue;
            --answer->times;
            if (answer->ignored) {
                waitForNothing(entry);
            } else {
                answer->bytes != 0 ? shorten(entry, answer->bytes) : inject(entry, answer->result);
            }
        }
    }
    static void shorten(io_uring_sqe& entry, unsigned bytes) noexcept { entry.len = std::min(entry.len, bytes); }
    static void inject(io_uring_sqe& entry, int result) noexcept {
        const auto key = entry.user_data;
        entry = {};
        entry.opcode = IORING_OP_NOP;
        entry.fd = -1;
        entry.rw_flags = injectResult;
        entry.len = static_cast<unsigned>(result);
        entry.user_data = key;
    }
    void waitForNothing(io_uring_sqe& entry) const noexcept {
        const auto key = entry.user_data;
        entry = {};  // since liburing 2.4 io_uring_get_sqe() clears an entry, and the prep functions leave most of it
        io_uring_prep_poll_add(&entry, silent_.get(), POLLIN);
        entry.user_data = key;
    }

    const Fd silent_{::eventfd(0, EFD_CLOEXEC)};  // never readable
    mutable std::mutex lock_;
    std::vector<Answer> script_;
};

}  // namespace weft::test
