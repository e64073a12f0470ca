// The current level of leak detection, and the count of messages that handlers dropped.
#pragma once

#include <weft/pipeline/leak_detection.hpp>

namespace weft::detail {

// As leakDetection(), but never throws: off until leakDetection() or setLeakDetection() has been called.
LeakDetection leakLevel() noexcept;
void countDropped() noexcept;

}  // namespace weft::detail
