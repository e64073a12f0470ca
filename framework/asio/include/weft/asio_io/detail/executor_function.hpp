// ExecutorFunction: a queued function, in memory from the submitter's allocator.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <weft/asio_io/detail/served_context.hpp>

namespace weft::asio_io::detail {

// The user's allocator must be usable where the function runs.
template <class Function, class Allocator>
class ExecutorFunction final : public ExecutorTask {
    using Own = typename std::allocator_traits<Allocator>::template rebind_alloc<ExecutorFunction>;
    using Traits = std::allocator_traits<Own>;

  public:
    template <class Source>
    static ExecutorFunction& make(ServedContext& context, const Allocator& allocator, Source&& source) {
        Own own(allocator);
        ExecutorFunction* const task = Traits::allocate(own, 1);
        try {
            return *::new (static_cast<void*>(task)) ExecutorFunction(context, own, std::forward<Source>(source));
        } catch (...) {
            Traits::deallocate(own, task, 1);
            throw;
        }
    }

    // Frees the memory before the function runs, so that the next operation of a chain can reuse it.
    void call() override {
        std::unique_ptr<ExecutorFunction, DestroyHere> memory(this);
        Function function(std::move(function_));
        memory.reset();
        function();
    }
    void destroy() noexcept override {
        Own own(allocator_);
        this->~ExecutorFunction();
        Traits::deallocate(own, this, 1);
    }

  private:
    struct DestroyHere {
        void operator()(ExecutorFunction* task) const noexcept {
            if constexpr (requires(Own own) { own.deallocateHere(task, 1); }) {
                Own own(task->allocator_);
                task->~ExecutorFunction();
                own.deallocateHere(task, 1);
            } else {
                task->destroy();
            }
        }
    };

    template <class Source>
    ExecutorFunction(ServedContext& context, const Own& allocator, Source&& source)
        : ExecutorTask(context), allocator_(allocator), function_(std::forward<Source>(source)) {}

    [[no_unique_address]] Own allocator_;
    Function function_;
};

// Uses the context's blocks, for callers without an allocator.
template <class T>
class BlockAllocator {
  public:
    using value_type = T;
    explicit BlockAllocator(ServedContext& context) noexcept : context_(&context) {}
    template <class U>
    BlockAllocator(const BlockAllocator<U>& other) noexcept : context_(other.context_) {}

    T* allocate(std::size_t count) {
        static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        return static_cast<T*>(context_->allocate(count * sizeof(T)));
    }
    void deallocate(T* block, std::size_t count) noexcept { context_->deallocate(block, count * sizeof(T)); }
    // Context: the loop's dispatch.
    void deallocateHere(T* block, std::size_t count) noexcept { context_->deallocateHere(block, count * sizeof(T)); }
    template <class U>
    bool operator==(const BlockAllocator<U>& other) const noexcept {
        return context_ == other.context_;
    }

  private:
    template <class U>
    friend class BlockAllocator;
    ServedContext* context_;
};

template <class Function, class Allocator, class Source>
ExecutorTask& makeFunction(ServedContext& context, const Allocator& allocator, Source&& source) {
    if constexpr (!std::is_same_v<Allocator, std::allocator<void>>) {
        return ExecutorFunction<Function, Allocator>::make(context, allocator, std::forward<Source>(source));
    } else if constexpr (alignof(Function) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        return ExecutorFunction<Function, BlockAllocator<void*>>::make(context, BlockAllocator<void*>(context),
                                                                       std::forward<Source>(source));
    } else {
        return ExecutorFunction<Function, std::allocator<void*>>::make(context, {}, std::forward<Source>(source));
    }
}

}  // namespace weft::asio_io::detail
