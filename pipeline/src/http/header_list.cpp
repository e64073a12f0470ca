#include <weft/pipeline/http/header_list.hpp>

#include "character_class.hpp"

namespace weft::http {

HeaderList& HeaderList::operator=(const HeaderList& other) {
    large_ = other.large_ ? std::make_unique<Large>(*other.large_) : nullptr;
    count_ = other.count_;
    textSize_ = other.textSize_;
    if (!large_ && this != &other) copyInline(other);
    return *this;
}

// Of the same sizes.
[[gnu::cold]] bool HeaderList::sameLarge(const HeaderList& left, const HeaderList& right) noexcept {
    return std::equal(left.text(), left.text() + left.textSize_, right.text()) &&
           std::equal(left.entries(), left.entries() + left.count_, right.entries());
}

void HeaderList::addLarge(std::string_view name, std::string_view value) {
    if (!large_) {
        auto large = std::make_unique<Large>();
        large->text.assign(shortText_.data(), textSize_);
        large->entries.assign(inline_.data(), inline_.data() + count_);
        large_ = std::move(large);
    }
    large_->entries.push_back(entryOf(name, value));
    large_->text.append(name).append(value);
    textSize_ += static_cast<std::uint32_t>(name.size() + value.size());
    ++count_;
}

std::string_view HeaderList::find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        const HeaderView header = view(i);
        if (detail::equalIgnoringCase(header.name, name)) return header.value;
    }
    return {};
}

const HeaderList& noTrailers() noexcept {
    static const HeaderList none;
    return none;
}

}  // namespace weft::http
