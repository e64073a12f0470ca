#include <weft/pipeline/http/limits.hpp>

#include <stdexcept>
#include <string>

namespace weft::http {
namespace {

void require(const char* name, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
    if (value >= low && value <= high) return;
    throw std::invalid_argument("weft::http::Limits::" + std::string(name) + " is " + std::to_string(value) +
                                "; accepted: " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

void Limits::validate() const {
    constexpr std::uint32_t lowBytes = 16;
    constexpr std::uint32_t highBytes = 1U << 20;
    require("requestLineBytes", requestLineBytes, lowBytes, highBytes);
    require("headerSectionBytes", headerSectionBytes, lowBytes, highBytes);
    require("headerCount", headerCount, 1, 4096);
    require("chunkLineBytes", chunkLineBytes, lowBytes, highBytes);
    require("chunkExtensionBytes", chunkExtensionBytes, lowBytes, highBytes);
    require("trailerSectionBytes", trailerSectionBytes, lowBytes, highBytes);
}

}  // namespace weft::http
