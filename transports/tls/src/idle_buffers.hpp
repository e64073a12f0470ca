// IdleBuffers: gives back libssl's buffers, 33 KiB, of connections that have been idle for a second.
#pragma once

#include <chrono>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft::detail {

class IdleBuffers;

// The buffers of one connection. Context: its carrier.
class BufferOwner {
  public:
    BufferOwner(const BufferOwner&) = delete;
    BufferOwner& operator=(const BufferOwner&) = delete;

    // libssl has been called. Context: in `loop`.
    void used(EventLoop& loop) noexcept {
        isUsed_ = true;
        if (owners_ == nullptr) [[unlikely]]
            join(loop);
    }
    // No more calls.
    void forget() noexcept;

  protected:
    BufferOwner() = default;
    virtual ~BufferOwner() { forget(); }

  private:
    friend class IdleBuffers;

    void join(EventLoop& loop) noexcept;
    virtual void releaseBuffers() noexcept = 0;

    IdleBuffers* owners_ = nullptr;  // null: the buffers have been given back
    BufferOwner* previous_ = nullptr;
    BufferOwner* next_ = nullptr;
    bool isUsed_ = false;  // since the last round
};

// One per carrier: EventLoop::local<IdleBuffers>(). Once a second it visits the connections that have buffers; one that
// libssl was not called for since the visit before loses them: after 1 to 2 s.
class IdleBuffers {
  public:
    static constexpr Duration period = std::chrono::seconds(1);

    IdleBuffers() = default;

  private:
    friend class BufferOwner;

    void add(BufferOwner& owner, EventLoop& loop) noexcept;
    void remove(BufferOwner& owner) noexcept;
    void visitLater(EventLoop& loop) noexcept;
    void visit() noexcept;

    BufferOwner* first_ = nullptr;
    ScheduledTask timer_;
};

}  // namespace weft::detail
