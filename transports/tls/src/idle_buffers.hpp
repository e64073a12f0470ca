// IdleBuffers: gives back libssl's buffers, 33 KiB, of connections that have been idle for a second.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/scheduled_task.hpp>

#include "linked_queue.hpp"

namespace weft::detail {

class IdleBuffers;

// The buffers of one connection. Context: its carrier.
class BufferOwner {
  public:
    BufferOwner(const BufferOwner&) = delete;
    BufferOwner& operator=(const BufferOwner&) = delete;

    // libssl has been called. False: join().
    [[nodiscard]] bool used() noexcept {
        isUsed_ = true;
        return owners_ != nullptr;
    }
    // Context: in `loop`, which has not ended.
    void join(EventLoop& loop) noexcept;
    // No more calls.
    void forget() noexcept;

  protected:
    BufferOwner() = default;
    virtual ~BufferOwner() { forget(); }

  private:
    friend class IdleBuffers;
    friend class LinkedQueue<BufferOwner>;

    virtual void releaseBuffers() noexcept = 0;

    IdleBuffers* owners_ = nullptr;  // null: the buffers have been given back
    LinkedQueue<BufferOwner>::Link link;
    bool isUsed_ = false;  // since the last round
};

// One per carrier: EventLoop::local<IdleBuffers>(). In rounds of a second it visits the connections that have buffers;
// one that libssl was not called for since the visit before loses them: after 1 to 2 s.
class IdleBuffers {
  public:
    static constexpr Duration period = std::chrono::seconds(1);
    static constexpr unsigned visitsPerTask = 64;

    IdleBuffers() = default;
    ~IdleBuffers();
    IdleBuffers(const IdleBuffers&) = delete;
    IdleBuffers& operator=(const IdleBuffers&) = delete;

  private:
    friend class BufferOwner;

    void add(BufferOwner& owner, EventLoop& loop) noexcept;
    void remove(BufferOwner& owner) noexcept;
    void beginLater(EventLoop& loop) noexcept;
    void visitSome(EventLoop& loop) noexcept;
    bool empty() const noexcept { return queues_[0].first() == nullptr && queues_[1].first() == nullptr; }

    std::array<LinkedQueue<BufferOwner>, 2> queues_;
    std::size_t visited_ = 0;  // the queue of those that this round has visited; of all between two rounds
    ScheduledTask timer_;
};

}  // namespace weft::detail
