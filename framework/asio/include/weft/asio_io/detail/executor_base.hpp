// ExecutorBase: the common part of FiberExecutor and FiberStrand: the context, and the properties as bits.
#pragma once

#include <cstdint>
#include <utility>

#include <boost/asio/execution.hpp>

namespace weft::asio_io {
class Context;
}

namespace weft::asio_io::detail {

// Outstanding work, as Asio counts it. Context: any thread.
void workStarted(Context& context) noexcept;
void workFinished(Context& context) noexcept;

class ExecutorBase {
  public:
    Context& query(boost::asio::execution::context_t) const noexcept { return context(); }
    Context& context() const noexcept { return *context_; }
    static constexpr boost::asio::execution::mapping_t query(boost::asio::execution::mapping_t) noexcept {
        return boost::asio::execution::mapping.thread;
    }
    boost::asio::execution::relationship_t query(boost::asio::execution::relationship_t) const noexcept {
        if (bits_ & continuation) return boost::asio::execution::relationship.continuation;
        return boost::asio::execution::relationship.fork;
    }
    boost::asio::execution::outstanding_work_t query(boost::asio::execution::outstanding_work_t) const noexcept {
        if (bits_ & tracked) return boost::asio::execution::outstanding_work.tracked;
        return boost::asio::execution::outstanding_work.untracked;
    }

  protected:
    static constexpr std::uint8_t neverBlocking = 1, continuation = 2, tracked = 4;

    ExecutorBase(Context* context, std::uint8_t bits) noexcept : context_(context), bits_(bits) { begin(); }
    ExecutorBase(const ExecutorBase& other) noexcept : context_(other.context_), bits_(other.bits_) { begin(); }
    // A moved-from executor that does not track work stays usable, as io_context's does.
    ExecutorBase(ExecutorBase&& other) noexcept : context_(other.context_), bits_(other.bits_) {
        if (bits_ & tracked) other.context_ = nullptr;
    }
    ExecutorBase& operator=(ExecutorBase other) noexcept {
        std::swap(context_, other.context_);
        std::swap(bits_, other.bits_);
        return *this;
    }
    ~ExecutorBase() {
        if (context_ != nullptr && (bits_ & tracked)) workFinished(*context_);
    }

    // Ignores whether work is tracked.
    bool equals(const ExecutorBase& other) const noexcept {
        return context_ == other.context_ && ((bits_ ^ other.bits_) & ~tracked) == 0;
    }
    std::uint8_t bitsWith(std::uint8_t set, std::uint8_t clear) const noexcept {
        return static_cast<std::uint8_t>((bits_ | set) & ~clear);
    }

    Context* context_;  // null: moved from while it tracked work
    std::uint8_t bits_;

  private:
    void begin() const noexcept {
        if (context_ != nullptr && (bits_ & tracked)) workStarted(*context_);
    }
};

}  // namespace weft::asio_io::detail
