// CancelFrame: the frame of a CancelScope, for fibers and threads as they are.
#pragma once

#include <weft/scheduler/detail/cancel_frame.hpp>
#include <weft/scheduler/task.hpp>

namespace weft::detail {

// The fiber or thread that a CancelScope belongs to.
struct FrameTarget {
    TaskState& state() const noexcept { return task->state; }
    void interrupt() const noexcept {
        const ParkToken::Epoch epoch = interrupts->cancellableEpoch(task->park);
        if (epoch != 0) WakeKey(*task, epoch, WakeReason::cancelled).wake();
    }
    Task* task;
    const InterruptMask* interrupts;
};

struct CancelFrame final : BasicCancelFrame<NativeAtomics, FrameTarget> {
    using BasicCancelFrame::BasicCancelFrame;
};

}  // namespace weft::detail
