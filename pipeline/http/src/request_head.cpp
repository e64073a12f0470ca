#include <weft/http/request_head.hpp>

#include "character_class.hpp"

namespace weft::http {

std::optional<std::string_view> HeaderTable::find(std::string_view name, std::string_view message) const noexcept {
    for (const HeaderField& field : fields())
        if (detail::equalIgnoringCase(field.name.in(message), name)) return field.value.in(message);
    return std::nullopt;
}

void HeaderTable::spill(const HeaderField& field) {
    if (size_ == inlineCapacity) spilled_.assign(inline_.begin(), inline_.end());
    spilled_.push_back(field);
}

}  // namespace weft::http
