// The entry of a libFuzzer program; WEFT_FUZZ_TARGET names its target.
#include <cstdint>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    weft::fuzz::WEFT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
