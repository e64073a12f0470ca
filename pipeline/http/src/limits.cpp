#include <weft/http/limits.hpp>

#include <stdexcept>
#include <string>

namespace weft::http {
namespace {

constexpr std::uint32_t lowBytes = 16;
constexpr std::uint32_t highBytes = 1U << 20;
constexpr std::uint32_t mostHeaders = 4096;

constexpr bool within(std::uint32_t value, std::uint32_t low, std::uint32_t high) noexcept {
    return value - low <= high - low;
}

void require(const char* name, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
    if (within(value, low, high)) return;
    throw std::invalid_argument("weft::http::Limits::" + std::string(name) + " is " + std::to_string(value) +
                                "; accepted: " + std::to_string(low) + " to " + std::to_string(high));
}

[[gnu::noinline]] void requireEach(const Limits& limits) {
    require("requestLineBytes", limits.requestLineBytes, lowBytes, highBytes);
    require("headerSectionBytes", limits.headerSectionBytes, lowBytes, highBytes);
    require("headerCount", limits.headerCount, 1, mostHeaders);
    require("chunkLineBytes", limits.chunkLineBytes, lowBytes, highBytes);
    require("chunkExtensionBytes", limits.chunkExtensionBytes, lowBytes, highBytes);
    require("trailerSectionBytes", limits.trailerSectionBytes, lowBytes, highBytes);
}

}  // namespace

// A client validates for each exchange, so valid limits need no call per limit.
void Limits::validate() const {
    const bool good = within(requestLineBytes, lowBytes, highBytes) &&
                      within(headerSectionBytes, lowBytes, highBytes) && within(headerCount, 1, mostHeaders) &&
                      within(chunkLineBytes, lowBytes, highBytes) && within(chunkExtensionBytes, lowBytes, highBytes) &&
                      within(trailerSectionBytes, lowBytes, highBytes);
    if (!good) [[unlikely]]
        requireEach(*this);
}

}  // namespace weft::http
