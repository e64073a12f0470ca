// RecycledMemory: the small blocks of an operation that a fiber starts, kept for the next one.
#pragma once

#include <memory>

#include <boost/asio/detail/thread_context.hpp>
#include <boost/asio/detail/thread_info_base.hpp>

namespace weft::asio_io::detail {

// Asio keeps the last blocks of each kind for the thread that runs handlers, while it does. Fibers start operations
// outside of that: each takes the blocks that an earlier one has left. Context: the carrier.
class RecycledMemory : private boost::asio::detail::thread_context {
  public:
    RecycledMemory() = default;
    RecycledMemory(const RecycledMemory&) = delete;
    RecycledMemory& operator=(const RecycledMemory&) = delete;

    // While it lives, Asio takes blocks on this thread from there and gives them back; nothing may wait.
    class Use {
      public:
        explicit Use(RecycledMemory& memory) noexcept : entered_(&memory, memory.blocks_) {}
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        thread_call_stack::context entered_;
    };

    std::unique_ptr<RecycledMemory> next;  // its owner's

  private:
    boost::asio::detail::thread_info_base blocks_;
};

}  // namespace weft::asio_io::detail
