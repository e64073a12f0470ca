#include <weft/pipeline/http/header_list.hpp>

#include <algorithm>

#include "character_class.hpp"

namespace weft::http {

void HeaderList::add(std::string_view name, std::string_view value) {
    const Entry entry{append(name, value), static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size())};
    if (count_ < inlineHeaders) {
        inline_[count_] = entry;
    } else {
        if (spilled_.empty()) spilled_.assign(inline_.begin(), inline_.end());
        spilled_.push_back(entry);
    }
    ++count_;
}

std::uint32_t HeaderList::append(std::string_view name, std::string_view value) {
    const std::uint32_t offset = textSize_;
    const std::size_t size = name.size() + value.size();
    if (longText_.empty() && textSize_ + size <= inlineBytes) {
        std::copy(name.begin(), name.end(), shortText_.data() + textSize_);
        std::copy(value.begin(), value.end(), shortText_.data() + textSize_ + name.size());
    } else {
        if (longText_.empty()) longText_.assign(shortText_.data(), textSize_);
        longText_.append(name).append(value);
    }
    textSize_ += static_cast<std::uint32_t>(size);
    return offset;
}

std::string_view HeaderList::find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        const HeaderView header = view(entries()[i]);
        if (detail::equalIgnoringCase(header.name, name)) return header.value;
    }
    return {};
}

}  // namespace weft::http
