// HeaderSections: the header lines of everyday requests that were read lately, with what they say; one per carrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include <weft/pipeline/http/request_head.hpp>

namespace weft::http {

// All header lines of a request and the empty line behind them, as its parser read them.
struct HeaderSection {
    static constexpr std::size_t mostBytes = 512;
    static constexpr std::size_t mostFields = 16;

    std::uint32_t size = 0;  // bytes
    std::uint32_t count = 0;
    std::uint32_t seen = 0;  // bits of the parser
    Slice host{};            // offsets here: from the section's first byte
    std::array<HeaderField, mostFields> fields;
    std::array<char, mostBytes> text;

    // `rest` begins with these bytes.
    bool begins(std::string_view rest) const noexcept {
        return rest.size() >= size && std::memcmp(text.data(), rest.data(), size) == 0;
    }
    // Into an empty table, for a section that begins `start` bytes into its message.
    void copyTo(HeaderTable& table, std::uint32_t start) const noexcept {
        using Four [[gnu::vector_size(16)]] = std::uint32_t;
        static_assert(sizeof(HeaderField) == sizeof(Four));
        const Four distance{start, 0, start, 0};
        HeaderField* const room = table.inlineRoom(mostFields).data();
        const std::uint32_t number = count;  // which no store below can change
        for (std::uint32_t i = 0; i < number; ++i) {
            Four field;
            std::memcpy(&field, &fields[i], sizeof field);
            field += distance;
            std::memcpy(&room[i], &field, sizeof field);
        }
        table.added(number);
    }
};

// Clients of a kind send the same lines with each request, so a few sections stand for most requests of a server. An
// entry is compared byte for byte before it is used. Context: one carrier. Allocates all its room with the first entry.
class HeaderSections {
  public:
    // What a connection that has no section of its own should try; null: nothing is known.
    const HeaderSection* newest() const noexcept { return newest_; }

    // The entry for these bytes, which `table`, `host` and `seen` (offsets from `start` bytes before the section)
    // describe; the oldest one gives way. Null when the section is too large. Lifetime of the entry: this object's; its
    // content may change at any add(). Throws std::bad_alloc.
    const HeaderSection* add(std::string_view section, std::uint32_t start, const HeaderTable& table, Slice host,
                             std::uint32_t seen);

  private:
    static constexpr std::size_t capacity = 32;
    using Entries = std::array<HeaderSection, capacity>;

    const HeaderSection* find(std::uint64_t key, std::string_view section) const noexcept;

    std::unique_ptr<Entries> entries_;
    std::array<std::uint64_t, capacity> keys_{};  // of the entries, so that a search touches few of them
    std::size_t oldest_ = 0;
    const HeaderSection* newest_ = nullptr;
};

}  // namespace weft::http
