// Percent-encoding of text in URIs (RFC 3986, section 2.1). Any thread; throws std::bad_alloc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::http {

// Replaces each `%XX` by its byte; '+' stays '+'. Returns std::nullopt when a '%' is not followed by two hexadecimal
// digits. The result may contain any byte, NUL and '/' included: split a path into its segments before decoding them,
// and refuse decoded segments that contain one of the two, or are "." or "..".
std::optional<std::string> percentDecode(std::string_view text);

// Encodes every byte except the unreserved ones (letters, digits, '-', '.', '_', '~'). The result can stand for a name
// or value of a query, and for one path segment unless `text` is "." or "..", which URI parsers remove from paths.
std::string percentEncode(std::string_view text);

}  // namespace weft::http
