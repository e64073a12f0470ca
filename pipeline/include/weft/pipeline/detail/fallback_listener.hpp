// FallbackListener: a listener of a channel's future with a fallback, for operations that must end even if the loop
// ends first. Such a loop calls no listener any more (F-2).
#pragma once

#include <utility>

#include <weft/pipeline/channel_future.hpp>

namespace weft::detail {

// Tells the PromiseState that drops a listener that its fallback has run, so that it does not log a lost listener.
void noteFallback() noexcept;

// Calls either `called(future)` or, when it is destroyed without a call, `dropped()`: on the thread that finds that the
// loop has ended. `dropped` must not throw.
template <class Called, class Dropped>
class FallbackListener {
  public:
    FallbackListener(Called called, Dropped dropped) : called_(std::move(called)), dropped_(std::move(dropped)) {}
    FallbackListener(FallbackListener&& other) noexcept
        : called_(std::move(other.called_)),
          dropped_(std::move(other.dropped_)),
          due_(std::exchange(other.due_, false)) {}
    FallbackListener& operator=(FallbackListener&&) = delete;
    ~FallbackListener() {
        if (!due_) return;
        dropped_();
        noteFallback();
    }

    void operator()(const ChannelFuture& future) {
        due_ = false;
        called_(future);
    }

  private:
    Called called_;
    Dropped dropped_;
    bool due_ = true;
};

}  // namespace weft::detail
