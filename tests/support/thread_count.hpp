// The number of threads of the process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace weft::test {

inline std::size_t threadCount() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace weft::test
