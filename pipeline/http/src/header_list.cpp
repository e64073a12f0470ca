#include <weft/http/header_list.hpp>

#include <algorithm>

#include "character_class.hpp"

namespace weft::http {

HeaderList& HeaderList::operator=(const HeaderList& other) {
    large_ = other.large_ ? std::make_unique<Large>(*other.large_) : nullptr;
    count_ = other.count_;
    textSize_ = other.textSize_;
    if (!large_ && this != &other) copyInline(other);
    return *this;
}

// Both lists have the same sizes.
[[gnu::cold]] bool HeaderList::sameLarge(const HeaderList& left, const HeaderList& right) noexcept {
    return std::equal(left.text(), left.text() + left.textSize_, right.text()) &&
           std::equal(left.entries(), left.entries() + left.count_, right.entries());
}

// If an allocation fails, the list is unchanged.
void HeaderList::set(std::string_view name, std::string_view value) {
    if (!contains(name)) return add(name, value);
    HeaderList others;
    for (std::size_t i = 0; i < count_; ++i) {
        const HeaderView header = view(i);
        if (!detail::equalIgnoringCase(header.name, name)) others.add(header.name, header.value);
    }
    others.add(name, value);
    *this = std::move(others);
}

void HeaderList::addLarge(std::string_view name, std::string_view value) {
    std::unique_ptr<Large> first;
    if (!large_) {
        first = std::make_unique<Large>();
        first->text.assign(shortText_.data(), textSize_);
        first->entries.assign(inline_.data(), inline_.data() + count_);
    }
    Large& large = first ? *first : *large_;
    large.text.reserve(textSize_ + name.size() + value.size());
    large.entries.push_back(entryOf(name, value));
    large.text.append(name).append(value);
    if (first) large_ = std::move(first);
    textSize_ += static_cast<std::uint32_t>(name.size() + value.size());
    ++count_;
}

std::optional<std::string_view> HeaderList::find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        const HeaderView header = view(i);
        if (detail::equalIgnoringCase(header.name, name)) return header.value;
    }
    return std::nullopt;
}

const HeaderList& noTrailers() noexcept {
    static const HeaderList none;
    return none;
}

}  // namespace weft::http
