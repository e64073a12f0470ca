// PipelineEntry: a scope around all code that calls handlers or listeners of a channel, on its loop. No fiber may
// suspend inside, and removed handlers are destroyed only after the outermost entry.
#pragma once

#include <weft/pipeline/channel.hpp>

#include "current_channel.hpp"

namespace weft::detail {

// Directly inside an entry of the same channel it does nothing: the outer entry covers the code, and no fiber can run
// in between.
class PipelineEntry {
  public:
    class Outermost;

    explicit PipelineEntry(Channel& channel) noexcept : channel_(channel), outer_(currentChannel()) {
        if (outer_ == &channel) return;
        setCurrentChannel(&channel);
        // The loop's dispatch already is a non-suspending scope.
        if (channel.depth_++ == 0 && !channel.loop_.dispatching()) [[unlikely]]
            forbidSuspending(channel);
    }
    ~PipelineEntry() {
        if (outer_ == &channel_) return;
        setCurrentChannel(outer_);
        if (--channel_.depth_ == 0 && (channel_.scope_ || channel_.pipeline_.hasRemoved())) [[unlikely]]
            settle(channel_);
    }
    PipelineEntry(const PipelineEntry&) = delete;
    PipelineEntry& operator=(const PipelineEntry&) = delete;

  private:
    [[gnu::noinline]] static void forbidSuspending(Channel& channel) noexcept {
        channel.scope_.emplace(channel.loop_.carrier());
    }
    [[gnu::noinline]] static void settle(Channel& channel) noexcept {
        channel.scope_.reset();
        if (channel.pipeline_.hasRemoved()) channel.freeRemovedHandlers();
    }

    Channel& channel_;
    Channel* const outer_;
};

// The same for calls from the loop's dispatch while this thread is in no pipeline: there is no outer entry to restore,
// and suspending is forbidden already.
class PipelineEntry::Outermost {
  public:
    static bool possible(const Channel& channel) noexcept { return !currentChannel() && channel.loop_.dispatching(); }
    explicit Outermost(Channel& channel) noexcept : channel_(channel) {
        setCurrentChannel(&channel);
        channel.depth_ = 1;
    }
    ~Outermost() {
        setCurrentChannel(nullptr);
        channel_.depth_ = 0;
        if (channel_.pipeline_.hasRemoved()) [[unlikely]]
            PipelineEntry::settle(channel_);
    }
    Outermost(const Outermost&) = delete;
    Outermost& operator=(const Outermost&) = delete;

  private:
    Channel& channel_;
};

}  // namespace weft::detail
