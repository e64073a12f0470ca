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
    // Returns the seconds since 1970.
    using SecondClock = std::time_t (*)() noexcept;

    // Tests pass a clock of their own.
    explicit HeadCache(SecondClock clock = &systemSecond) noexcept : clock_(clock) {}

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
    // the response cannot be sent with these headers, or not in this form: encodeHead() then reports the error. Empty,
    // too, when the responses before were all different, for most of which an entry would be made in vain. `serverName`
    // is a key from serverName(). Lifetime: until the next call. Allocates for new headers.
    std::string_view head(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::time_t now);

    // As head() with the time of second(), if head() returned this head last and its date is still right; otherwise
    // empty. Does not allocate.
    std::string_view last(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::uint64_t flushPoint) noexcept {
        second(flushPoint);
        const Entry& last = *last_;
        const bool same = last.length == length && last.isOf(status, headers, serverName);
        return same ? std::string_view(last.text) : std::string_view();
    }

    // Returns the seconds since 1970 for the Date header. The first call of second() or last() after each flush point
    // of the loop (`flushPoint`: the number of flush points so far) reads the clock, which may be late by a few
    // milliseconds.
    std::time_t second(std::uint64_t flushPoint) noexcept {
        if (flushPoint != flushPoint_) [[unlikely]]
            readClock(flushPoint);
        return second_;
    }

    std::string_view date(std::time_t now) noexcept { return date_.at(now); }

  private:
    static constexpr std::size_t capacity = 4;
    static constexpr unsigned mostMisses = 8;  // in a row; then only each retryEvery-th response is looked up
    static constexpr unsigned retryEvery = 32;

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

    static std::time_t systemSecond() noexcept;
    void readClock(std::uint64_t flushPoint) noexcept;
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
    const SecondClock clock_;
    std::size_t oldest_ = 0;
    unsigned misses_ = 0;  // in a row
    DateCache date_;
};

}  // namespace weft::http::detail
