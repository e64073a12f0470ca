// HeaderSections: a cache of recently parsed header sections; one per carrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include <weft/pipeline/http/request_head.hpp>

namespace weft::http::detail {

// All header lines of a request and the empty line after them, with what the parser found in them.
struct HeaderSection {
    static constexpr std::size_t mostBytes = 512;
    static constexpr std::size_t mostFields = 16;

    std::uint32_t size = 0;  // bytes
    std::uint32_t count = 0;
    std::uint32_t seen = 0;  // bits of RequestHeadParser::seen_
    Slice host{};            // all offsets in this struct: from the section's first byte
    std::array<HeaderField, mostFields> fields;
    std::array<char, mostBytes> text;

    // True if `rest` begins with the bytes of this section.
    bool begins(std::string_view rest) const noexcept {
        return rest.size() >= size && std::memcmp(text.data(), rest.data(), size) == 0;
    }
    // Copies the fields into an empty table. The section begins `start` bytes into its message.
    void copyTo(HeaderTable& table, std::uint32_t start) const noexcept {
        using Four [[gnu::vector_size(16)]] = std::uint32_t;
        static_assert(sizeof(HeaderField) == sizeof(Four));
        const Four distance{start, 0, start, 0};
        HeaderField* const room = table.inlineRoom(mostFields).data();
        const std::uint32_t number = count;  // a copy: the stores below cannot change it
        for (std::uint32_t i = 0; i < number; ++i) {
            Four field;
            std::memcpy(&field, &fields[i], sizeof field);
            field += distance;
            std::memcpy(&room[i], &field, sizeof field);
        }
        table.added(number);
    }
};

// Clients of the same kind repeat their header lines, so a few sections cover most requests of a server. An entry is
// compared byte for byte before it is used. Context: one carrier. Allocates all its memory with the first entry.
class HeaderSections {
  public:
    // The entry that a connection without one of its own should try; null if there is none.
    const HeaderSection* newest() const noexcept { return newest_; }

    // Returns the entry for `section`. A new one replaces the oldest. `table`, `host` and `seen` are the parsed
    // section, with offsets from `start` bytes before it. Returns null if the section is too large. Lifetime of the
    // entry: that of this object; any add() may change its contents. Throws std::bad_alloc.
    const HeaderSection* add(std::string_view section, std::uint32_t start, const HeaderTable& table, Slice host,
                             std::uint32_t seen);

  private:
    static constexpr std::size_t capacity = 32;
    using Entries = std::array<HeaderSection, capacity>;

    const HeaderSection* find(std::uint64_t key, std::string_view section) const noexcept;

    std::unique_ptr<Entries> entries_;
    std::array<std::uint64_t, capacity> keys_{};  // of the entries, so that a search reads few of them
    std::size_t oldest_ = 0;
    const HeaderSection* newest_ = nullptr;
};

}  // namespace weft::http::detail
