// The HTTP versions that the codecs support. Shared by the parsers and the encoder. A request with a later minor
// version (HTTP/1.7) is served as 1.1, so there are only two values.
#pragma once

#include <cstdint>

namespace weft::http {

enum class Version : std::uint8_t { http10, http11 };

}  // namespace weft::http
