// What the header lines of a message contain so far: the bits of RequestHeadParser::seen_ and
// ResponseHeadParser::seen_. The framing decision is made from them after the last line.
#pragma once

#include <cstdint>

namespace weft::http::detail::seen {

enum Seen : std::uint32_t {
    sawHost = 1,
    sawEmptyHost = 2,
    sawContentLength = 4,
    sawTransferEncoding = 8,
    sawUnknownCoding = 16,
    sawExpectContinue = 32,
    sawUnknownExpect = 64,
    sawUpgrade = 128,
    optionClose = 256,
    optionKeepAlive = 512,
    optionUpgrade = 1024,
};

}  // namespace weft::http::detail::seen
