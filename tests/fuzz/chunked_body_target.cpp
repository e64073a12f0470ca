// One chunked body: the outcome does not depend on the cuts and, without extensions, equals that of a naive decoder.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/http/detail/body_decoder.hpp>

#include "fuzz/cuts.hpp"
#include "fuzz/targets.hpp"

namespace weft::fuzz {
namespace {

using namespace http;
using http::detail::BodyDecoder;
using http::detail::BodyEvent;
using http::detail::BodyStep;

struct Decoded {
    std::string data;
    std::string trailers;
    std::string verdict;
    std::size_t consumed = 0;
};

Decoded decode(std::string_view bytes, Cut cut) {
    BodyDecoder decoder;
    decoder.start(BodyKind::chunked);
    Decoded result;
    result.verdict = "more";
    bool over = false;
    deliver(bytes, cut, [&](std::string_view piece) {
        while (!over) {
            const BodyStep step = decoder.decode(piece);
            require(step.consumed <= piece.size(), "more consumed than there is");
            require((step.event == BodyEvent::data) == !step.data.empty(), "data without bytes, or bytes without data");
            result.data.append(step.data);
            result.consumed += step.consumed;
            piece.remove_prefix(step.consumed);
            if (step.event == BodyEvent::needMore) {
                require(piece.empty(), "needMore leaves bytes behind");
                return;
            }
            over = step.event == BodyEvent::end || step.event == BodyEvent::error;
            if (step.event == BodyEvent::error) result.verdict = decoder.refusal().reason;
            if (step.event == BodyEvent::end) result.verdict = "end";
        }
    });
    for (const HeaderField& field : decoder.trailers()) {
        result.trailers.append(field.name.in(decoder.trailerText())).append("=");
        result.trailers.append(field.value.in(decoder.trailerText())).append("|");
    }
    return result;
}

// Decodes chunks without extensions or trailers; nothing for anything else, or for an incomplete body.
std::optional<std::string> naive(std::string_view bytes) {
    std::string data;
    for (;;) {
        const std::size_t end = bytes.find("\r\n");
        if (end == std::string_view::npos || end == 0 || end > Limits{}.chunkLineBytes) return std::nullopt;
        const std::size_t zeros = std::min(bytes.find_first_not_of('0'), end);
        if (end - zeros > 15) return std::nullopt;
        std::uint64_t size = 0;
        for (const char c : bytes.substr(zeros, end - zeros)) {
            const std::size_t digit = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
            if (digit == std::string_view::npos || (c < '0')) return std::nullopt;
            size = size * 16 + digit;
        }
        bytes.remove_prefix(end + 2);
        if (size == 0) return bytes.starts_with("\r\n") ? std::optional(data) : std::nullopt;
        if (bytes.size() < size + 2 || bytes.substr(static_cast<std::size_t>(size), 2) != "\r\n") return std::nullopt;
        data.append(bytes.substr(0, static_cast<std::size_t>(size)));
        bytes.remove_prefix(static_cast<std::size_t>(size) + 2);
    }
}

}  // namespace

void chunkedBodyTarget(std::string_view bytes) {
    const Decoded whole = decode(bytes, Cut::whole);
    for (const Cut cut : {Cut::some, Cut::bytes}) {
        const Decoded cutUp = decode(bytes, cut);
        requireSame(whole.verdict, cutUp.verdict, "in pieces the verdict is another");
        requireSame(whole.trailers, cutUp.trailers, "in pieces the trailers are others");
        requireSame(whole.data, cutUp.data, "in pieces the data are others");
        const bool ended = whole.verdict == "end";
        require(!ended || whole.consumed == cutUp.consumed, "in pieces the end is elsewhere");
    }
    const std::optional<std::string> plain = naive(bytes);
    if (plain) {
        requireSame(whole.verdict, "end", "refused, though it is plain");
        requireSame(whole.data, *plain, "a naive decoder reads other data");
    }
    if (whole.verdict == "end") {
        const std::string_view taken = bytes.substr(0, whole.consumed);
        require(taken.ends_with("\r\n\r\n"), "a body that does not end with an empty line", taken);
        if (!plain) {
            const bool more = taken.find(';') != std::string_view::npos || !whole.trailers.empty();
            require(more, "accepted, though it is not plain and has neither extensions nor trailers", taken);
        }
    }
}

}  // namespace weft::fuzz
