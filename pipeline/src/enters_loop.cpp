#include "enters_loop.hpp"

#include <weft/scheduler/detail/current_home.hpp>

namespace weft::detail {

[[gnu::cold, gnu::noinline]] bool goesHomeTo(const EventLoop& loop) noexcept {
    return loop.carrier() != nullptr && comeHome(*loop.carrier());
}

}  // namespace weft::detail
