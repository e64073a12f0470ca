// HeadCache: the encoded heads of the most recent kinds of response; one per carrier.
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

namespace weft::http::detail {

// Most responses of a server have the same status and headers as a recent one; only the date (once a second) and
// perhaps the length differ. Each entry was encoded by encodeHead(), with all its checks. Context: one carrier.
class HeadCache {
  public:
    static constexpr std::size_t longestHead = 1024;  // bytes; longer heads are not cached

    // Returns the key of a server name for head(); equal names have the same key. Lifetime: that of this cache.
    // Allocates for a new name.
    const std::string* serverName(std::string_view name) {
        for (const auto& known : serverNames_) {
            if (*known == name) return known.get();
        }
        return serverNames_.emplace_back(std::make_unique<std::string>(name)).get();
    }

    // Returns the head of an HTTP/1.1 keep-alive response with a body of `length` bytes and the date of `now`. Empty if
    // the response cannot be sent with these headers, or not in this form: encodeHead() then reports the error.
    // `serverName` is a key from serverName(). Lifetime: until the next call. Allocates for new headers.
    std::string_view head(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::time_t now);

    // As head(), if head() returned this head last and second() has been called since this flush point; otherwise
    // empty.
    std::string_view last(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::uint64_t flushPoint) const noexcept {
        const Entry& last = *last_;
        const bool same = flushPoint == flushPoint_ && last.length == length && last.isOf(status, headers, serverName);
        return same ? std::string_view(last.text) : std::string_view();
    }

    // Returns the seconds since 1970 for the Date header, read at the first call after each flush point of the loop
    // (`flushPoint`: the number of flush points so far). The clock may be late by a few milliseconds.
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

    std::vector<std::unique_ptr<const std::string>> serverNames_;  // usually one
    std::array<Entry, capacity> entries_;
    const Entry unknown_;
    const Entry* last_ = &unknown_;                 // the entry returned last, if its date is second_
    std::uint64_t flushPoint_ = ~std::uint64_t{0};  // none yet
    std::time_t second_ = 0;
    std::size_t oldest_ = 0;
    DateCache date_;
};

}  // namespace weft::http::detail
