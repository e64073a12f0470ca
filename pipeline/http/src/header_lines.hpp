// putHeaderLines(): encodes headers of which an encoded head is already known.
#pragma once

#include <cstddef>

#include <weft/http/header_list.hpp>

namespace weft::http::detail {

// Writes the lines of `headers` from index `from` on, and returns where they end. `known`: headers that the encoder has
// accepted; a name that it has at the same index is not checked again. Null if there is a header that the encoder
// refuses, or a framing header or Date, of which it does more than write a line.
char* putHeaderLines(char* out, const HeaderList& headers, std::size_t from, const HeaderList& known) noexcept;

}  // namespace weft::http::detail
