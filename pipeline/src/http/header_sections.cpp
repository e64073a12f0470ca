#include <weft/pipeline/http/detail/header_sections.hpp>

#include <algorithm>
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::http::detail {

namespace {

// A key that differs between most sections: the size, mixed with the last bytes of the last value.
std::uint64_t keyOf(std::string_view section) noexcept {
    std::uint64_t last = 0;
    constexpr std::size_t fromEnd = sizeof last + 4;  // two line ends
    if (section.size() >= fromEnd) std::memcpy(&last, section.data() + section.size() - fromEnd, sizeof last);
    return last ^ section.size();
}

// The number of equal bytes at the front of two texts, of which each has `most`. In blocks: the texts are a few hundred
// bytes, and usually differ near the end.
std::size_t commonBytes(const char* left, const char* right, std::size_t most) noexcept {
    std::size_t at = 0;
#if defined(__SSE2__)
    const auto sameBlock = [&](std::size_t from) {
        const __m128i l = _mm_loadu_si128(reinterpret_cast<const __m128i*>(left + from));
        const __m128i r = _mm_loadu_si128(reinterpret_cast<const __m128i*>(right + from));
        return _mm_cmpeq_epi8(l, r);
    };
    constexpr int all = 0xffff;
    while (at + 32 <= most && _mm_movemask_epi8(_mm_and_si128(sameBlock(at), sameBlock(at + 16))) == all) at += 32;
    for (; at + 16 <= most; at += 16) {
        if (const int same = _mm_movemask_epi8(sameBlock(at)); same != all)
            return at + static_cast<std::size_t>(std::countr_one(static_cast<unsigned>(same)));
    }
#endif
    while (at < most && left[at] == right[at]) ++at;
    return at;
}

}  // namespace

std::uint32_t HeaderSection::commonLines(std::string_view rest) const noexcept {
    const std::size_t same = commonBytes(text.data(), rest.data(), std::min<std::size_t>(size - 2, rest.size()));
    std::uint32_t lines = 0;
    while (lines < count && endOf(lines + 1) <= same) ++lines;
    return lines;
}

HeaderSection* HeaderSections::find(std::uint64_t key, std::string_view section) const noexcept {
    for (std::size_t i = 0; i < capacity; ++i) {
        HeaderSection& entry = (*entries_)[i];
        if (keys_[i] == key && entry.size == section.size() && entry.begins(section)) return &entry;
    }
    return nullptr;
}

HeaderSection* HeaderSections::add(std::string_view section, std::uint32_t start, const HeaderTable& table,
                                   Slice host) {
    if (section.size() > HeaderSection::mostBytes || table.size() > HeaderSection::mostFields) return nullptr;
    if (!entries_) entries_ = std::make_unique<Entries>();
    const std::uint64_t key = keyOf(section);
    if (HeaderSection* const known = find(key, section)) {
        newest_ = known;
        return known;
    }
    HeaderSection& entry = (*entries_)[oldest_];
    keys_[oldest_] = key;
    oldest_ = (oldest_ + 1) % capacity;
    entry.size = static_cast<std::uint32_t>(section.size());
    entry.count = static_cast<std::uint32_t>(table.size());
    entry.host = {host.offset - start, host.size};
    std::copy(section.begin(), section.end(), entry.text.begin());
    std::transform(table.begin(), table.end(), entry.fields.begin(), [start](const HeaderField& field) {
        return HeaderField{{field.name.offset - start, field.name.size},
                           {field.value.offset - start, field.value.size}};
    });
    newest_ = &entry;
    return &entry;
}

}  // namespace weft::http::detail
