#include <weft/pipeline/http/detail/head_cache.hpp>

#include <algorithm>

#include <weft/pipeline/http/detail/number_text.hpp>
#include <weft/pipeline/http/response_encoder.hpp>

namespace weft::http::detail {

namespace {
constexpr std::string_view headEnd = "\r\n\r\n";
}

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

std::string_view HeadCache::head(Status status, const HeaderList& headers, const std::string* serverName,
                                 std::uint64_t length, std::time_t now) {
    if (misses_ >= mostMisses && ++misses_ % retryEvery != 0) return {};
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.isOf(status, headers, serverName); });
    if (found == entries_.end()) {
        ++misses_;
        return remember(status, headers, serverName, length, now);
    }
    misses_ = 0;
    if (found->second != now) setDate(*found, now);
    if (found->length != length) setLength(*found, length);
    noteLast(*found);
    return found->text;
}

namespace {

// These lines depend on the body and on the request, so such a head is good for one response only.
bool setsFraming(const HeaderList& headers) noexcept {
    return headers.contains("Content-Length") || headers.contains("Connection") ||
           headers.contains("Transfer-Encoding");
}

}  // namespace

std::string_view HeadCache::remember(Status status, const HeaderList& headers, const std::string* serverName,
                                     std::uint64_t length, std::time_t now) {
    if (!mayHaveContent(status) || headers.contains("Date") || setsFraming(headers)) return {};
    ResponseHead head;
    head.status = status;
    head.contentLength = length;
    head.date = date_.at(now);
    std::string text;
    const HeaderView server{serverName->empty() ? std::string_view() : std::string_view("Server"), *serverName};
    const EncodedHead encoded = headers.visit(server, [&](std::span<const HeaderView> all) {
        head.headers = all;
        text.resize(headBound(head));
        return encodeHead(head, text);
    });
    if (encoded.error != EncodeError::none || encoded.size > longestHead) return {};
    text.resize(encoded.size);
    Entry& entry = entries_[oldest_];
    oldest_ = (oldest_ + 1) % capacity;
    entry = {status, serverName, headers, std::move(text), 0, 0, now, length};
    // The codec's own Date and Content-Length follow the application's headers, so they are the last of those names.
    entry.dateAt = entry.text.rfind("\r\nDate: ") + 8;
    entry.lengthAt = entry.text.rfind("\r\nContent-Length: ") + 18;
    noteLast(entry);
    return entry.text;
}

void HeadCache::setDate(Entry& entry, std::time_t now) {
    entry.text.replace(entry.dateAt, DateCache::textBytes, date_.at(now));
    entry.second = now;
}

// Content-Length is always the last line of these heads.
void HeadCache::setLength(Entry& entry, std::uint64_t length) {
    char digits[maxDecimalBytes];
    entry.text.resize(entry.lengthAt);
    entry.text.append(digits, writeDecimal(length, digits)).append(headEnd);
    entry.length = length;
}

}  // namespace weft::http::detail
