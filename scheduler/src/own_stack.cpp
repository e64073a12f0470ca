#include "own_stack.hpp"

#include <cstddef>

#include <pthread.h>

#include <weft/scheduler/detail/fiber.hpp>

#include "fiber_access.hpp"

namespace weft::detail {

namespace {

struct Range {
    const std::byte* low = nullptr;
    std::size_t size = 0;

    bool contains(const void* address) const noexcept {
        const auto* const byte = static_cast<const std::byte*>(address);
        return byte >= low && byte < low + size;
    }
};

Range stackOfThread() noexcept {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
    void* low = nullptr;
    std::size_t size = 0;
    const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
    pthread_attr_destroy(&attributes);
    return known ? Range{static_cast<const std::byte*>(low), size} : Range{};
}

}  // namespace

bool isOnOwnStack(const void* address) noexcept {
    if (address == nullptr) return false;
    if (const Fiber* const fiber = FiberAccess::currentFiber()) {
        return Range{fiber->stack.bottom(), fiber->stack.size}.contains(address);
    }
    static thread_local const Range own = stackOfThread();
    return own.contains(address);
}

}  // namespace weft::detail
