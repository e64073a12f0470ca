#include <weft/http/detail/header_sections.hpp>

#include <algorithm>

namespace weft::http::detail {

namespace {

// A key that differs between most sections: the size, mixed with the last bytes of the last value.
std::uint64_t keyOf(std::string_view section) noexcept {
    std::uint64_t last = 0;
    constexpr std::size_t fromEnd = sizeof last + 4;  // two line ends
    if (section.size() >= fromEnd) std::memcpy(&last, section.data() + section.size() - fromEnd, sizeof last);
    return last ^ section.size();
}

}  // namespace

std::uint32_t HeaderSection::countCommonLines(std::string_view rest) const noexcept {
    const auto same = [&](std::uint32_t from, std::uint32_t to) {
        return to <= rest.size() && std::memcmp(text.data() + from, rest.data() + from, to - from) == 0;
    };
    std::uint32_t lines = 0;
    while (lines < count && same(endOf(lines), endOf(lines + 1))) ++lines;
    return lines;
}

HeaderSection* HeaderSections::find(std::uint64_t key, std::string_view section) const noexcept {
    for (std::size_t i = 0; i < capacity; ++i) {
        HeaderSection& entry = (*entries_)[i];
        if (keys_[i] == key && entry.size == section.size() && entry.isPrefixOf(section)) return &entry;
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
    std::fill_n(std::copy(section.begin(), section.end(), entry.text.begin()), HeaderSection::blockBytes, '\0');
    std::transform(table.begin(), table.end(), entry.fields.begin(), [start](const HeaderField& field) {
        return HeaderField{{field.name.offset - start, field.name.size},
                           {field.value.offset - start, field.value.size}};
    });
    newest_ = &entry;
    return &entry;
}

}  // namespace weft::http::detail
