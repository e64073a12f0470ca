// AnsweredListener: a listener of a channel's future with a substitute, for operations that must end even if the loop
// ends first. Such a loop calls no listener any more (F-2).
#pragma once

#include <utility>

#include <weft/pipeline/channel_future.hpp>

namespace weft::detail {

void noteAnsweredDrop() noexcept;  // so that nothing is logged

// Calls either `called(future)` or, when it is destroyed without a call, `dropped()`: on the thread that finds that the
// loop has ended. `dropped` must not throw.
template <class Called, class Dropped>
class AnsweredListener {
  public:
    AnsweredListener(Called called, Dropped dropped) : called_(std::move(called)), dropped_(std::move(dropped)) {}
    AnsweredListener(AnsweredListener&& other) noexcept
        : called_(std::move(other.called_)),
          dropped_(std::move(other.dropped_)),
          due_(std::exchange(other.due_, false)) {}
    AnsweredListener& operator=(AnsweredListener&&) = delete;
    ~AnsweredListener() {
        if (!due_) return;
        dropped_();
        noteAnsweredDrop();
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
