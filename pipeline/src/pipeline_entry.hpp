// PipelineEntry: the bracket around everything that runs handlers or listeners of a channel, on its loop: nothing may
// suspend inside, and removed handlers die only after the outermost one.
#pragma once

#include <weft/pipeline/channel.hpp>

namespace weft::detail {

// An inner entry only counts: it runs inside the outer one's scope, and no fiber can come between.
class PipelineEntry {
  public:
    explicit PipelineEntry(Channel& channel) noexcept : channel_(channel) {
        if (channel_.depth_++ == 0) open();
    }
    ~PipelineEntry() {
        if (--channel_.depth_ == 0) close();
    }
    PipelineEntry(const PipelineEntry&) = delete;
    PipelineEntry& operator=(const PipelineEntry&) = delete;

  private:
    // Dispatch is a non-suspending scope already.
    void open() noexcept {
        if (!channel_.loop_.dispatching()) [[unlikely]] channel_.scope_.emplace(channel_.loop_.carrier());
    }
    void close() noexcept {
        if (channel_.scope_) [[unlikely]] channel_.scope_.reset();
        if (channel_.pipeline_.hasRemoved()) [[unlikely]] channel_.freeRemovedHandlers();
    }

    Channel& channel_;
};

}  // namespace weft::detail
