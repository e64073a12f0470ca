// ChannelHandlerContext: schedule().
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <weft/pipeline/attribute_key.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_pin.hpp>
#include <weft/scheduler/event_loop.hpp>

#include "pipeline_entry.hpp"

namespace weft {

namespace {

// The timed tasks of all handlers of one channel. Context: the loop.
class ContextTimers {
  public:
    // Makes room for one more task, so that add() cannot fail. Throws std::bad_alloc.
    void reserve() {
        if (timers_.size() < timers_.capacity()) return;
        std::erase_if(timers_, [](const Timer& timer) { return timer.task.done(); });
        timers_.reserve(std::max(smallest, timers_.size() * 2));
    }
    void add(const ChannelHandlerContext& owner, const ScheduledTask& task) noexcept {
        timers_.push_back({&owner, task});
    }
    // A cancelled task destroys its function, which may schedule for another handler: the search begins anew each time.
    void cancel(const ChannelHandlerContext& owner) noexcept {
        while (true) {
            const auto found =
                std::find_if(timers_.begin(), timers_.end(), [&](const Timer& timer) { return timer.owner == &owner; });
            if (found == timers_.end()) return;
            std::swap(*found, timers_.back());
            ScheduledTask task = std::move(timers_.back().task);
            timers_.pop_back();
            task.cancel();
        }
    }

  private:
    struct Timer {
        const ChannelHandlerContext* owner;
        ScheduledTask task;
    };

    static constexpr std::size_t smallest = 4;
    std::vector<Timer> timers_;  // some may have run, or been cancelled by their owner
};

constinit AttributeKey<ContextTimers> contextTimers;

}  // namespace

ScheduledTask ChannelHandlerContext::schedule(UniqueFunction<void()> fn, Duration delay) {
    if (removed()) return {};
    ContextTimers& timers = channel_.attr(contextTimers);
    timers.reserve();
    const ScheduledTask task = loop().schedule(
        [this, channel = ChannelRef(channel_), fn = std::move(fn)]() mutable {
            const ContextPin pin(*this);
            const detail::PipelineEntry entry(*channel);
            try {
                fn();
            } catch (...) {
                invokeExceptionCaught(std::current_exception());
            }
        },
        delay);
    timers.add(*this, task);
    hasTimers_ = true;
    return task;
}

[[gnu::cold]] void ChannelHandlerContext::cancelTimers() noexcept {
    hasTimers_ = false;
    channel_.attr(contextTimers).cancel(*this);
}

}  // namespace weft
