// The HTTP versions that a connection of this codec can speak. Shared by the request parser and the response encoder.
// A request of a later minor version (HTTP/1.7) is served as 1.1, so there are only two values.
#pragma once

#include <cstdint>

namespace weft::http {

enum class Version : std::uint8_t { http10, http11 };

}  // namespace weft::http
