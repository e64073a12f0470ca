// quotedJson: text as a string of JSON. Private to the scheduler.
#pragma once

#include <string>
#include <string_view>

namespace weft::detail {

// In quotes. Each byte that is not part of a character in UTF-8 becomes U+FFFD.
std::string quotedJson(std::string_view text);

}  // namespace weft::detail
