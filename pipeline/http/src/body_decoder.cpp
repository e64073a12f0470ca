#include <weft/http/detail/body_decoder.hpp>

#include <algorithm>
#include <limits>

#include "character_class.hpp"
#include "fault.hpp"
#include "field_line.hpp"
#include "header_rules.hpp"

namespace weft::http::detail {

BodyDecoder::BodyDecoder(const Limits& limits) noexcept : limits_(limits) {}

void BodyDecoder::start(BodyKind kind, std::uint64_t length) noexcept {
    remaining_ = kind == BodyKind::length ? length : 0;
    state_ = kind == BodyKind::chunked ? State::sizeStart : remaining_ != 0 ? State::fixed : State::done;
    lineBytes_ = 0;
    extensionBytes_ = 0;
    trailerLineStart_ = 0;
    trailerText_.clear();
    trailers_.clear();
}

Refusal BodyDecoder::refusal() const noexcept {
    return refusalOf(fault_);
}

std::unique_ptr<HeaderList> BodyDecoder::trailerList() const {
    if (trailers_.empty()) return nullptr;
    auto list = std::make_unique<HeaderList>();
    for (const HeaderField& field : trailers_) list->add(field.name.in(trailerText_), field.value.in(trailerText_));
    return list;
}

void BodyDecoder::fail(Fault fault) noexcept {
    state_ = State::failed;
    fault_ = fault;
}

BodyStep BodyDecoder::decode(std::string_view input) {
    std::size_t at = 0;
    for (;;) {
        if (state_ == State::done) return {BodyEvent::end, at, {}};
        if (state_ == State::failed) return {BodyEvent::error, at, {}};
        if (at == input.size()) return {BodyEvent::needMore, at, {}};
        if (state_ == State::fixed || state_ == State::data) return takeData(input, at);
        if (state_ == State::trailer) at = stepTrailer(input, at);
        else if (state_ < State::data && state_ != State::sizeLineFeed) stepSizeLine(input[at++]);
        else stepAfterSizeLine(input[at++]);
    }
}

std::string_view BodyDecoder::takeWhole(std::string_view input) noexcept {
    if (state_ != State::fixed || remaining_ > input.size()) return {};
    return takeData(input, 0).data;
}

BodyStep BodyDecoder::takeData(std::string_view input, std::size_t at) noexcept {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size() - at));
    remaining_ -= size;
    if (remaining_ == 0) state_ = state_ == State::fixed ? State::done : State::dataReturn;
    return {BodyEvent::data, at + size, input.substr(at, size)};
}

void BodyDecoder::stepSizeLine(char c) noexcept {
    if (c != '\r' && ++lineBytes_ > limits_.chunkLineBytes) return fail(Fault::chunkLineTooLong);
    if (state_ == State::sizeStart || state_ == State::size) return stepSize(c);
    if (++extensionBytes_ > limits_.chunkExtensionBytes) return fail(Fault::chunkExtensionsTooLarge);
    stepExtension(c);
}

void BodyDecoder::stepSize(char c) noexcept {
    if (is(hexChar, c)) {
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max() >> 4;
        if (remaining_ > most) return fail(Fault::chunkSizeOverflow);
        remaining_ = remaining_ << 4 | hexValue(c);
        state_ = State::size;
        return;
    }
    if (state_ == State::sizeStart) return fail(Fault::badChunkSize);
    switch (c) {
        case '\r': state_ = State::sizeLineFeed; break;
        case ';': state_ = State::extensionStart; break;
        case ' ':
        case '\t': state_ = State::sizeBlank; break;
        default: fail(Fault::badChunkSize);
    }
}

// *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ). Blanks directly before the CRLF are refused, since
// parsers disagree about them.
void BodyDecoder::stepExtension(char c) noexcept {
    const bool token = is(tokenChar, c);
    const bool blank = isBlank(c);
    const auto go = [this](bool allowed, State next) {
        allowed ? void(state_ = next) : fail(Fault::badChunkExtension);
    };
    switch (state_) {
        case State::sizeBlank:
        case State::valueBlank: return c == ';' ? go(true, State::extensionStart) : go(blank, state_);
        case State::extensionStart: return token ? go(true, State::extensionName) : go(blank, state_);
        case State::extensionName:
            if (token) return;
            if (c == '\r') return go(true, State::sizeLineFeed);
            [[fallthrough]];
        case State::extensionNameBlank:
            if (c == '=') return go(true, State::valueStart);
            return c == ';' ? go(true, State::extensionStart) : go(blank, State::extensionNameBlank);
        case State::valueStart:
            if (c == '"') return go(true, State::quoted);
            return token ? go(true, State::valueToken) : go(blank, state_);
        case State::quoted:
            if (c == '"') return go(true, State::valueEnd);
            return c == '\\' ? go(true, State::quotedPair) : go(is(fieldChar, c), State::quoted);
        case State::quotedPair: return go(is(fieldChar, c), State::quoted);
        case State::valueToken:
            if (token) return;
            [[fallthrough]];
        case State::valueEnd:
            if (c == '\r') return go(true, State::sizeLineFeed);
            return c == ';' ? go(true, State::extensionStart) : go(blank, State::valueBlank);
        default: return;
    }
}

void BodyDecoder::stepAfterSizeLine(char c) noexcept {
    switch (state_) {
        case State::sizeLineFeed:
            if (c != '\n') return fail(Fault::bareCarriageReturn);
            state_ = remaining_ == 0 ? State::trailer : State::data;
            lineBytes_ = 0;
            return;
        case State::dataReturn:
            if (c != '\r') return fail(Fault::chunkDataOverrun);
            state_ = State::dataLineFeed;
            return;
        case State::dataLineFeed:
            if (c != '\n') return fail(Fault::chunkDataOverrun);
            state_ = State::sizeStart;
            return;
        default: return;
    }
}

// Appends input to the current trailer line, up to the byte that ends it. Returns where to continue. As in the head,
// the limit is checked first, then the byte that ends the line, then the contents of the line.
std::size_t BodyDecoder::stepTrailer(std::string_view input, std::size_t at) {
    const char* const begin = input.data();
    const char* const end = begin + input.size();
    if (!trailerText_.empty() && trailerText_.back() == '\r') {
        if (input[at] != '\n') return fail(Fault::bareCarriageReturn), at;
        trailerText_.push_back('\n');
        endTrailerLine();
        return at + 1;
    }
    const char* const stop = findFirst<FieldStop>(begin + at, begin, end);
    const auto run = static_cast<std::size_t>(stop - begin) - at;
    if (trailerText_.size() + run > limits_.trailerSectionBytes) return fail(Fault::trailersTooLarge), at;
    trailerText_.append(begin + at, run);
    if (stop == end) return input.size();
    if (*stop != '\r') return fail(*stop == '\n' ? Fault::bareLineFeed : Fault::controlCharacter), at;
    trailerText_.push_back('\r');
    return at + run + 1;
}

void BodyDecoder::endTrailerLine() {
    const char* const begin = trailerText_.data();
    const char* const end = begin + trailerText_.size();
    const char* const line = begin + trailerLineStart_;
    if (end - line == 2) {
        trailerText_.resize(trailerLineStart_);
        state_ = State::done;
        return;
    }
    FieldLine field;
    if (!scanFieldLine(line, begin, end, field))
        return fail(explainFieldLine({line, static_cast<std::size_t>(end - line - 2)}));
    const auto slice = [begin](const char* from, const char* to) {
        return Slice{static_cast<std::uint32_t>(from - begin), static_cast<std::uint32_t>(to - from)};
    };
    const HeaderField trailer{slice(line, field.nameEnd), slice(field.value, field.valueEnd)};
    if (isForbiddenTrailer(trailer.name.in(trailerText_))) return fail(Fault::forbiddenTrailer);
    if (trailers_.size() == limits_.headerCount) return fail(Fault::tooManyTrailers);
    trailers_.push_back(trailer);
    trailerLineStart_ = static_cast<std::uint32_t>(trailerText_.size());
}

}  // namespace weft::http::detail
