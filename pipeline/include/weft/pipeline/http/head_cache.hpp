// HeadCache: the heads of the last few kinds of everyday response, encoded but for their length; one per carrier.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include <weft/pipeline/http/date_cache.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/status.hpp>

namespace weft::http {

// Most responses of a server have the same status and headers as one a moment ago: only the date (once a second) and the
// length differ. An entry was encoded by encodeHead(), with all its checks. Context: one carrier.
class HeadCache {
  public:
    // The head of an HTTP/1.1 keep-alive response with a body of known length, up to the value of Content-Length, with
    // the date of `now`. Empty when these headers cannot be sent (or not in this way): encodeHead() then says why.
    // Lifetime: until the next call. Allocates when it meets new headers.
    std::string_view prefix(Status status, const HeaderList& headers, std::string_view serverName, std::time_t now) {
        for (Entry& entry : entries_) {
            if (entry.status == status && entry.serverName == serverName && entry.headers == headers) {
                return withDate(entry, now);
            }
        }
        return remember(status, headers, serverName, now);
    }

    std::string_view date(std::time_t now) noexcept { return date_.at(now); }

  private:
    static constexpr std::size_t capacity = 4;
    static constexpr std::size_t longestHead = 1024;  // longer ones are not worth keeping

    struct Entry {
        Status status{};
        std::string serverName;
        HeaderList headers;
        std::string text;
        std::size_t dateAt = 0;
        std::time_t second = -1;
    };

    std::string_view withDate(Entry& entry, std::time_t now) {
        if (entry.second != now) [[unlikely]] {
            entry.text.replace(entry.dateAt, DateCache::textBytes, date_.at(now));
            entry.second = now;
        }
        return entry.text;
    }
    std::string_view remember(Status status, const HeaderList& headers, std::string_view serverName, std::time_t now);

    std::array<Entry, capacity> entries_;
    std::size_t oldest_ = 0;
    DateCache date_;
};

}  // namespace weft::http
