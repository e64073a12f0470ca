// ContextGroup: a Context for each carrier of an EventLoopGroup: the form for servers.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <weft/asio_io/context.hpp>

namespace weft {
class EventLoopGroup;
namespace detail {
class LoopSet;
}
}  // namespace weft

namespace weft::asio_io {

//     EventLoopGroupOptions options;
//     options.carriers = 4;
//     options.ioHandler = AsioIoHandler::wrap;
//     EventLoopGroup group(options);
//     ContextGroup contexts(group);
// Each Context runs as long as its loop does: nobody calls run() (std::logic_error), and work need not be kept. An
// exception of a handler is logged, and the others go on. Channels and fibers of the group live beside Asio's objects.
// Lifetime: may outlive the group, and should when sockets or timers do, which must not outlive their Context: what is
// pending when the loops end never completes, and its handlers are destroyed with the Context. Context: any thread.
class ContextGroup {
  public:
    using executor_type = LoopExecutor;

    // Throws std::logic_error when the group was made without AsioIoHandler, or has Contexts already; SystemError.
    // Context: a plain thread, or a fiber of other carriers.
    explicit ContextGroup(EventLoopGroup& group);
    ~ContextGroup();
    ContextGroup(const ContextGroup&) = delete;
    ContextGroup& operator=(const ContextGroup&) = delete;

    std::size_t size() const noexcept { return contexts_.size(); }
    Context& context(std::size_t index) { return *contexts_.at(index); }  // throws std::out_of_range
    // The calling carrier's if it is one of the group, else round robin.
    Context& next() noexcept;
    executor_type get_executor() noexcept { return next().get_executor(); }

  private:
    std::shared_ptr<weft::detail::LoopSet> loops_;  // they are not destroyed before the contexts
    std::vector<std::unique_ptr<Context>> contexts_;
    std::atomic<std::size_t> next_{0};
};

}  // namespace weft::asio_io
