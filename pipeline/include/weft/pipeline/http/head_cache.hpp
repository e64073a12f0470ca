// HeadCache: the heads of the last few kinds of everyday response, encoded; one per carrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/pipeline/http/date_cache.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/status.hpp>

namespace weft::http {

// Most responses of a server have the same status and headers as one a moment ago: only the date (once a second) and
// perhaps the length differ. An entry was encoded by encodeHead(), with all its checks. Context: one carrier.
class HeadCache {
  public:
    static constexpr std::size_t longestHead = 1024;  // bytes; longer ones are not worth keeping

    // A server name's key for head(); the same text gives the same key. Lifetime: the cache's. Allocates.
    const std::string* serverName(std::string_view name) {
        for (const auto& known : serverNames_) {
            if (*known == name) return known.get();
        }
        return serverNames_.emplace_back(std::make_unique<std::string>(name)).get();
    }

    // The head of an HTTP/1.1 keep-alive response with a body of `length` bytes, with the date of `now`. Empty when
    // these headers cannot be sent (or not in this way): encodeHead() then says why. `serverName` is of this cache.
    // Lifetime: until the next call. Allocates when it meets new headers.
    std::string_view head(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::time_t now);

    // As head(), if it was asked for this one last, between the same two flush points. Empty when not.
    std::string_view last(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::uint64_t flushPoint) const noexcept {
        const Entry& last = *last_;
        const bool same = flushPoint == flushPoint_ && last.length == length && last.isOf(status, headers, serverName);
        return same ? std::string_view(last.text) : std::string_view();
    }

    // Seconds since 1970, for the Date header, as at the first call between two flush points of the loop (`flushPoint`:
    // their number); by a clock that may be late by a few milliseconds.
    std::time_t second(std::uint64_t flushPoint) noexcept {
        if (flushPoint != flushPoint_) [[unlikely]]
            look(flushPoint);
        return second_;
    }

    std::string_view date(std::time_t now) noexcept { return date_.at(now); }

  private:
    static constexpr std::size_t capacity = 4;

    struct Entry {
        Status status{};
        const std::string* serverName = nullptr;
        HeaderList headers;
        std::string text;
        std::size_t dateAt = 0;
        std::size_t lengthAt = 0;
        std::time_t second = -1;
        std::uint64_t length = 0;

        [[gnu::always_inline]] bool isOf(Status itsStatus, const HeaderList& itsHeaders,
                                         const std::string* itsServerName) const noexcept {
            return status == itsStatus && serverName == itsServerName && headers == itsHeaders;
        }
    };

    void look(std::uint64_t flushPoint) noexcept;
    void noteLast(const Entry& entry) noexcept { last_ = entry.second == second_ ? &entry : &unknown_; }
    void setDate(Entry& entry, std::time_t now);
    void setLength(Entry& entry, std::uint64_t length);
    std::string_view remember(Status status, const HeaderList& headers, const std::string* serverName,
                              std::uint64_t length, std::time_t now);

    std::vector<std::unique_ptr<const std::string>> serverNames_;  // one, as a rule
    std::array<Entry, capacity> entries_;
    const Entry unknown_;
    const Entry* last_ = &unknown_;                 // whose head was asked for last, if that was in second_
    std::uint64_t flushPoint_ = ~std::uint64_t{0};  // none yet
    std::time_t second_ = 0;
    std::size_t oldest_ = 0;
    DateCache date_;
};

}  // namespace weft::http
