// PipelineEntry: the bracket around everything that runs handlers or listeners of a channel, on its loop: nothing may
// suspend inside, and removed handlers die only after the outermost one.
#pragma once

#include <optional>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft::detail {

class PipelineEntry {
  public:
    explicit PipelineEntry(Channel& channel) noexcept : channel_(channel) {
        // An inner entry runs inside the outer one's scope, and dispatch is one: no fiber can come between.
        if (channel_.depth_++ == 0 && !channel_.loop_.dispatching()) [[unlikely]] {
            scope_.emplace(channel_.loop_.carrier());
        }
    }
    ~PipelineEntry() {
        if (--channel_.depth_ == 0 && channel_.pipeline_.hasRemoved()) channel_.freeRemovedHandlers();
    }
    PipelineEntry(const PipelineEntry&) = delete;
    PipelineEntry& operator=(const PipelineEntry&) = delete;

  private:
    Channel& channel_;
    std::optional<NonSuspendingScope> scope_;
};

}  // namespace weft::detail
