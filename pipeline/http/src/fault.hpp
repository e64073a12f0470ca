// Fault: every way in which a message can be wrong, each with one status and one text. Shared by the head parsers and
// the body decoder, which store this one byte instead of a text.
#pragma once

#include <cstdint>

#include <weft/http/refusal.hpp>

namespace weft::http::detail {

// clang-format off
enum class Fault : std::uint8_t {
    none,
    bareLineFeed, bareCarriageReturn, controlCharacter,
    methodTooLong, requestLineTooLong, headerSectionTooLarge, tooManyHeaders,
    emptyLines, badMethod, badRequestLine, badTarget, badVersion, unsupportedVersion,
    lineFolding, missingColon, emptyName, badName, blankBeforeColon,
    missingHost, duplicateHost, badHost,
    badContentLength, duplicateContentLength,
    badTransferEncoding, codingNotChunked, duplicateTransferEncoding, transferEncodingInHttp10, lengthAndTransferEncoding,
    unknownTransferCoding, bodyWithConnect,
    badChunkSize, chunkSizeOverflow, badChunkExtension, chunkLineTooLong, chunkExtensionsTooLarge, chunkDataOverrun,
    trailersTooLarge, tooManyTrailers, forbiddenTrailer,
    notHttp, badStatusLine, statusLineTooLong, unrequestedSwitch, interimTooLarge, endedEarly,  // of responses only
    count,
};
// clang-format on

Refusal refusalOf(Fault fault) noexcept;

}  // namespace weft::http::detail
