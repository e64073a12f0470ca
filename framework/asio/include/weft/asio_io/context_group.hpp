// ContextGroup: a Context for each carrier of an EventLoopGroup, for servers.
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
// Each Context runs for as long as its loop: run() must not be called (std::logic_error), and no work needs to be kept.
// A handler's exception is logged, and the other handlers continue. Channels and fibers of the group share the carriers
// with Asio's objects.
// Lifetime: may outlive the group, and should if sockets or timers do, which must not outlive their Context. Operations
// pending when the loops end never complete; their handlers are destroyed with the Context. Context: any thread.
class ContextGroup {
  public:
    using executor_type = Context::executor_type;

    // Throws std::logic_error when the group was made without AsioIoHandler or already has Contexts; SystemError.
    // Context: a plain thread, or a fiber of other carriers.
    explicit ContextGroup(EventLoopGroup& group, detail::ThisAsio = {});
    ~ContextGroup();
    ContextGroup(const ContextGroup&) = delete;
    ContextGroup& operator=(const ContextGroup&) = delete;

    std::size_t size() const noexcept { return contexts_.size(); }
    Context& context(std::size_t index) { return *contexts_.at(index); }  // throws std::out_of_range
    // The calling carrier's Context if the carrier belongs to the group, otherwise round robin.
    Context& next() noexcept;
    executor_type get_executor() noexcept { return next().get_executor(); }

  private:
    bool endWaits();

    std::shared_ptr<weft::detail::LoopSet> loops_;  // keeps the loops alive until the contexts are destroyed
    std::vector<std::unique_ptr<Context>> contexts_;
    std::atomic<std::size_t> next_{0};
};

}  // namespace weft::asio_io
