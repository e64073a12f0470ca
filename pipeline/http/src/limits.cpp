#include <weft/http/limits.hpp>

#include <stdexcept>
#include <string>

namespace weft::http {
namespace {

constexpr std::uint32_t lowBytes = 16;
constexpr std::uint32_t highBytes = 1U << 20;
constexpr std::uint32_t mostHeaders = 4096;

[[noreturn, gnu::cold]] void refuse(const char* name, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
    throw std::invalid_argument("weft::http::Limits::" + std::string(name) + " is " + std::to_string(value) +
                                "; accepted: " + std::to_string(low) + " to " + std::to_string(high));
}

// A client validates for each exchange, so valid limits need no call per limit.
[[gnu::always_inline]] inline void require(const char* name, std::uint32_t value, std::uint32_t low,
                                           std::uint32_t high) {
    if (value - low > high - low) [[unlikely]]
        refuse(name, value, low, high);
}

}  // namespace

void Limits::validate() const {
    require("requestLineBytes", requestLineBytes, lowBytes, highBytes);
    require("headerSectionBytes", headerSectionBytes, lowBytes, highBytes);
    require("headerCount", headerCount, 1, mostHeaders);
    require("chunkLineBytes", chunkLineBytes, lowBytes, highBytes);
    require("chunkExtensionBytes", chunkExtensionBytes, lowBytes, highBytes);
    require("trailerSectionBytes", trailerSectionBytes, lowBytes, highBytes);
}

}  // namespace weft::http
