#include <weft/pipeline/http/head_cache.hpp>

#include <weft/pipeline/http/response_encoder.hpp>

namespace weft::http {

std::string_view HeadCache::remember(Status status, const HeaderList& headers, std::string_view serverName,
                                     std::time_t now) {
    if (neverHasBody(status) || !headers.find("Date").empty()) return {};
    const std::string_view tail = "7\r\n\r\n";
    ResponseHead head;
    head.status = status;
    head.contentLength = 7;  // any length of one digit: it is cut off again
    head.date = date_.at(now);
    std::string text;
    const HeaderView server{serverName.empty() ? std::string_view() : std::string_view("Server"), serverName};
    const EncodedHead encoded = headers.visit(server, [&](std::span<const HeaderView> all) {
        head.headers = all;
        text.resize(headBound(head));
        return encodeHead(head, text);
    });
    if (encoded.error != EncodeError::none || encoded.size > longestHead) return {};
    text.resize(encoded.size - tail.size());
    Entry& entry = entries_[oldest_];
    oldest_ = (oldest_ + 1) % capacity;
    // The codec's own Date line follows the application's headers, so it is the last of that name.
    entry = {status, std::string(serverName), headers, std::move(text), 0, now};
    entry.dateAt = entry.text.rfind("\r\nDate: ") + 8;
    return entry.text;
}

}  // namespace weft::http
