// What is watched at present, and how often a handler has dropped a message.
#pragma once

#include <weft/pipeline/leak_detection.hpp>

namespace weft::detail {

// As leakDetection(), for those who may not throw: off as long as nobody has asked that one.
LeakDetection leakLevel() noexcept;
void countDropped() noexcept;

}  // namespace weft::detail
