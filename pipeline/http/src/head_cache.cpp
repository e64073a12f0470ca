#include <weft/http/detail/head_cache.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <weft/http/detail/number_text.hpp>
#include <weft/http/response_encoder.hpp>

#include "byte_scan.hpp"
#include "put_text.hpp"

namespace weft::http::detail {

namespace {
constexpr std::string_view separator = ": ", lineEnd = "\r\n", headEnd = "\r\n\r\n";

// The index of the first byte in memory that is not 0; there is one.
std::size_t firstByte(std::uint64_t word) noexcept {
    const int zeros = std::endian::native == std::endian::little ? std::countr_zero(word) : std::countl_zero(word);
    return static_cast<std::size_t>(zeros) / 8;
}

}  // namespace

static_assert(HeadCache::Model::mostDigits >= maxDecimalBytes);

std::time_t HeadCache::systemSecond() noexcept {
    timespec time;
    ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return time.tv_sec;
}

void HeadCache::readClock(std::uint64_t flushPoint) noexcept {
    const std::time_t now = clock_();
    if (now != second_) last_ = &unknown_;
    second_ = now;
    flushPoint_ = flushPoint;
}

namespace {

// These lines depend on the body, on the request or on the time, so such a head is no model.
bool setsOwn(const HeaderList& headers) noexcept {
    return headers.contains("Content-Length") || headers.contains("Connection") ||
           headers.contains("Transfer-Encoding") || headers.contains("Date");
}

}  // namespace

HeadCache::Model* HeadCache::add(Status status, const HeaderList& headers, const std::string* serverName,
                                 std::time_t now) {
    if (!encode(models_[oldest_], status, headers, serverName, now)) return nullptr;
    return &models_[std::exchange(oldest_, (oldest_ + 1) % capacity)];
}

void HeadCache::renew(Model& model, const HeaderList& headers, std::time_t now) {
    if (model.unlike >= adoptEvery) {
        model.unlike = 0;
        encode(model, model.status, headers, model.serverName, now);
    }
    if (model.second != now) setDate(model, now);
}

// The first byte from `from` on that differs, or the end of the shorter text. Lists that are not stored inside their
// objects are not compared.
[[gnu::always_inline]] inline std::size_t HeadCache::firstDifference(const HeaderList& left, const HeaderList& right,
                                                                     std::size_t from) noexcept {
    if (left.large_ || right.large_) return from;
    const std::size_t most = std::min(left.textSize_, right.textSize_);
#if defined(__SSE2__)
    for (; from + sizeof(Block) <= most; from += sizeof(Block)) {
        const Block same = _mm_cmpeq_epi8(loadBlock(&left.shortText_[from]), loadBlock(&right.shortText_[from]));
        if (bits(same) != 0xffff) return from + static_cast<unsigned>(std::countr_one(bits(same)));
    }
#endif
    using Word = std::uint64_t;
    for (; from + sizeof(Word) <= most; from += sizeof(Word)) {
        const Word differ = load<Word>(&left.shortText_[from]) ^ load<Word>(&right.shortText_[from]);
        if (differ != 0) return from + firstByte(differ);
    }
    while (from < most && left.shortText_[from] == right.shortText_[from]) ++from;
    return from;
}

// `out` holds the model's head. Overwrites the values that differ, as long as the headers have the lengths of the
// model's.
[[gnu::always_inline]] inline HeadCache::Lines HeadCache::overwriteValues(const Model& model, const HeaderList& headers,
                                                                          char* out) noexcept {
    const HeaderList& known = model.headers;
    const HeaderList::Entry *const own = headers.entries(), *const like = known.entries();
    const std::size_t both = std::min(headers.size(), known.size());
    Lines lines;
    std::size_t from = 0;
    while (lines.alike < both) {
        const std::size_t at = firstDifference(headers, known, from);
        while (lines.alike < both && own[lines.alike] == like[lines.alike] && own[lines.alike].valueEnd <= at)
            ++lines.alike;
        if (lines.alike == both) break;
        const HeaderList::Entry entry = own[lines.alike];
        if (entry != like[lines.alike] || at < entry.nameEnd) break;
        const std::string_view value(headers.text() + entry.nameEnd, entry.valueEnd - entry.nameEnd);
        lines.refused = lines.refused || !isFieldValue(value);
        lines.differ = true;
        const std::size_t between = lines.alike * (separator.size() + lineEnd.size()) + separator.size();
        put(out + model.linesAt + entry.nameEnd + between, value);
        from = entry.valueEnd;
        ++lines.alike;
    }
    return lines;
}

std::size_t HeadCache::write(Model& model, const HeaderList& headers, std::uint64_t length, char* out) {
    const std::string_view text = model.text;
    std::memcpy(out, text.data(), text.size());
    const Lines lines = overwriteValues(model, headers, out);
    char* at = out + model.lengthAt;
    if (lines.refused) return 0;
    if (lines.alike < headers.size() || lines.alike < model.headers.size()) {
        at = putHeaderLines(out + model.endOf(lines.alike), headers, lines.alike, model.headers);
        if (at == nullptr) return 0;
        ++model.unlike;
        const std::string_view rest = text.substr(model.endOf(model.headers.size()));
        at = std::copy_n(rest.data(), rest.size() - (text.size() - model.lengthAt), at);
    } else if (!lines.differ) {
        last_ = model.second == second_ ? &model : &unknown_;
        if (model.length != length) setLength(model, length);
    } else if (model.length == length) {
        last_ = &unknown_;  // the next response probably differs, too
        return text.size();
    }
    at += writeDecimal(length, at);
    return static_cast<std::size_t>(std::copy(headEnd.begin(), headEnd.end(), at) - out);
}

// False if such a head is no model; `model` is as before.
bool HeadCache::encode(Model& model, Status status, const HeaderList& headers, const std::string* serverName,
                       std::time_t now) {
    if (!mayHaveContent(status) || setsOwn(headers)) return false;
    if (Model::lineBytes(headers, headers.size()) > longestHead) return false;  // scratch_ keeps its size
    ResponseHead head;
    head.status = status;
    head.date = date_.at(now);
    const HeaderView server{serverName->empty() ? std::string_view() : std::string_view("Server"), *serverName};
    const EncodedHead encoded = headers.visit(server, [&](std::span<const HeaderView> all) {
        head.headers = all;
        scratch_.resize(headBound(head));
        return encodeHead(head, scratch_);
    });
    if (encoded.error != EncodeError::none || encoded.size > longestHead) return false;
    scratch_.resize(encoded.size);
    model.headers = headers;
    std::swap(model.text, scratch_);
    model.status = status;
    model.serverName = serverName;
    model.second = now;
    model.length = 0;
    // The codec's own Date and Content-Length follow the application's headers, so they are the last of those names.
    model.linesAt = model.text.find("\r\n") + 2;
    model.dateAt = model.text.rfind("\r\nDate: ") + 8;
    model.lengthAt = model.text.rfind("\r\nContent-Length: ") + 18;
    if (last_ == &model) last_ = &unknown_;
    return true;
}

// Content-Length is always the last line of these heads.
void HeadCache::setLength(Model& model, std::uint64_t length) {
    char digits[maxDecimalBytes];
    model.text.resize(model.lengthAt);
    model.text.append(digits, writeDecimal(length, digits)).append(headEnd);
    model.length = length;
}

void HeadCache::setDate(Model& model, std::time_t now) {
    model.text.replace(model.dateAt, DateCache::textBytes, date_.at(now));
    model.second = now;
}

}  // namespace weft::http::detail
