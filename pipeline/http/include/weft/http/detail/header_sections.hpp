// HeaderSections: a cache of recently parsed header sections; one per carrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include <weft/http/request_head.hpp>

namespace weft::http::detail {

// All header lines of a request and the empty line after them, with what the parser found in them.
struct HeaderSection {
    static constexpr std::size_t mostBytes = 512;
    static constexpr std::size_t mostFields = 16;
    static constexpr std::size_t blockBytes = 16;  // so many may be read from any byte of `text`

    std::uint32_t size = 0;  // bytes
    std::uint32_t count = 0;
    std::uint32_t seen = 0;                           // bits of RequestHeadParser::seen_ after all lines
    Slice host{};                                     // all offsets in this struct: from the section's first byte
    std::array<std::uint16_t, mostFields> seenAfter;  // as `seen`, after each line
    std::array<std::uint8_t, mostFields> prefix;      // bytes of each line up to its value; 0: all its bytes count
    std::array<HeaderField, mostFields> fields;
    std::array<char, mostBytes + blockBytes> text;  // zeros after the section

    // The first byte after these lines.
    std::uint32_t endOf(std::uint32_t lines) const noexcept {
        return lines < count ? fields[lines].name.offset : size - 2;
    }

    std::string_view lineOf(std::uint32_t line) const noexcept {
        const std::uint32_t begin = fields[line].name.offset;
        return {text.data() + begin, endOf(line + 1) - begin};
    }

    // True if `rest` begins with the bytes of this section.
    bool isPrefixOf(std::string_view rest) const noexcept {
        return rest.size() >= size && std::memcmp(text.data(), rest.data(), size) == 0;
    }
    // A number of lines of this section with which `rest` begins: `likely`, if it does (and is not 0), or the largest.
    std::uint32_t commonLines(std::string_view rest, std::uint32_t likely) const noexcept {
        const bool same = likely - 1 < count && endOf(likely) <= rest.size() &&
                          std::memcmp(text.data(), rest.data(), endOf(likely)) == 0;
        return same ? likely : countCommonLines(rest);
    }
    std::uint32_t countCommonLines(std::string_view rest) const noexcept;
    // Copies the fields of the first `lines` into an empty table. The section begins `start` bytes into its message.
    void copyTo(HeaderTable& table, std::uint32_t start, std::uint32_t lines) const noexcept {
        using Four [[gnu::vector_size(16)]] = std::uint32_t;
        static_assert(sizeof(HeaderField) == sizeof(Four));
        const Four distance{start, 0, start, 0};
        const HeaderField* from = fields.data();
        const HeaderField* const end = from + lines;
        HeaderField* to = table.inlineRoom(mostFields).data();
        const auto copyNext = [&] {
            Four field;
            std::memcpy(&field, from++, sizeof field);
            field += distance;
            std::memcpy(to++, &field, sizeof field);
        };
        if (lines % 2 != 0) copyNext();
        while (from != end) {
            copyNext();
            copyNext();
        }
        table.added(lines);
    }
};

// Clients of the same kind repeat their header lines, so a few sections cover most requests of a server; of a line that
// differs (a cookie, an id) usually only the value is read. Everything else is compared byte for byte before it is
// used. Context: one carrier. Allocates all its memory with the first entry.
class HeaderSections {
  public:
    // The entry that a connection without one of its own should try; null if there is none.
    const HeaderSection* newest() const noexcept { return newest_; }

    // Returns the entry for `section`. A new one replaces the oldest. `table` and `host` are the parsed section, with
    // offsets from `start` bytes before it; the caller sets `seen`, `seenAfter` and `prefix` of the entry. Returns null
    // if the section is too large. Lifetime of the entry: that of this object; any add() may change its contents.
    // Throws std::bad_alloc.
    HeaderSection* add(std::string_view section, std::uint32_t start, const HeaderTable& table, Slice host);

  private:
    static constexpr std::size_t capacity = 8;
    using Entries = std::array<HeaderSection, capacity>;

    HeaderSection* find(std::uint64_t key, std::string_view section) const noexcept;

    std::unique_ptr<Entries> entries_;
    std::array<std::uint64_t, capacity> keys_{};  // of the entries, so that a search reads few of them
    std::size_t oldest_ = 0;
    const HeaderSection* newest_ = nullptr;
};

}  // namespace weft::http::detail
