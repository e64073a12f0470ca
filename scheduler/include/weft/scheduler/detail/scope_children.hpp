// ScopeChildren: the running fibers of a TaskScope.
#pragma once

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/child_list.hpp>
#include <weft/scheduler/detail/fiber.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft::detail {

class ScopeChildren final : public BasicChildList<NativeAtomics, Fiber, WaitList> {};

}  // namespace weft::detail
