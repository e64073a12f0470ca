// The order and the pace in which the addresses of a name are tried (RFC 8305, sections 4 and 5).
#pragma once

#include <chrono>

#include <weft/framework/resolver.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::detail {

// An attempt that has neither connected nor failed by then goes on beside the next one: a silent address must not hide
// the others. The RFC recommends this value.
inline constexpr Duration attemptDelay = std::chrono::milliseconds(250);

// Families alternate, beginning with that of the first address. Each family keeps its order, which is the resolver's
// preference.
Resolver::Addresses alternating(const Resolver::Addresses& addresses);

}  // namespace weft::detail
