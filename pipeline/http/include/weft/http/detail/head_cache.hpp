// HeadCache: encoded heads, from which those of similar responses are made; one per carrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/date_cache.hpp>
#include <weft/http/header_list.hpp>
#include <weft/http/status.hpp>

namespace weft::http::detail {

// Most responses of a server have the headers of a recent one with the same status, or differ in one of the last (an
// id, a cookie, an entity tag); then only the lines that differ are encoded. Each model was encoded by encodeHead(),
// with all its checks. Context: one carrier.
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

    // The head of an HTTP/1.1 keep-alive response.
    struct Model {
        static constexpr std::size_t mostDigits = 20;  // of a length

        Status status{};
        const std::string* serverName = nullptr;
        HeaderList headers;
        std::string text;
        std::size_t linesAt = 0;  // where the headers begin
        std::size_t dateAt = 0;
        std::size_t lengthAt = 0;
        std::time_t second = -1;
        std::uint64_t length = 0;
        unsigned unlike = 0;  // responses with other headers since this is the model

        // The most bytes that write() needs.
        std::size_t bound(const HeaderList& own) const noexcept {
            return text.size() + lineBytes(own, own.size()) + mostDigits;
        }
        // Where the first `count` lines end.
        std::size_t endOf(std::size_t count) const noexcept { return linesAt + lineBytes(headers, count); }
        static std::size_t lineBytes(const HeaderList& list, std::size_t count) noexcept {
            return list.textBytes(count) + count * std::string_view(": \r\n").size();
        }
        [[gnu::always_inline]] bool isOf(Status wanted, const HeaderList& list,
                                         const std::string* name) const noexcept {
            return status == wanted && serverName == name && headers == list;
        }
    };

    // Returns the model of responses with this status, with the date of `now`. Null if there is none, and a response
    // with these headers cannot be one: it cannot be sent in this form, or at all. `serverName` is a key from
    // serverName(). Lifetime: until the next call. Allocates, and throws std::bad_alloc, for a model that is new or
    // becomes another one.
    Model* find(Status status, const HeaderList& headers, const std::string* serverName, std::time_t now) {
        for (Model& model : models_) {
            if (model.status != status || model.serverName != serverName) continue;
            if (model.second != now || model.unlike >= adoptEvery) [[unlikely]]
                renew(model, headers, now);
            return &model;
        }
        return add(status, headers, serverName, now);
    }
    // Writes the head for a body of `length` bytes to `out`, where there is room for model.bound(headers). Returns its
    // size, or 0 if a response with these headers cannot be sent in this form, or at all: encodeHead() tells.
    std::size_t write(Model& model, const HeaderList& headers, std::uint64_t length, char* out);

    // Returns the head with the time of second(), if write() wrote it last and its date is still right; otherwise
    // empty. Lifetime: until the next call.
    std::string_view last(Status status, const HeaderList& headers, const std::string* serverName, std::uint64_t length,
                          std::uint64_t flushPoint) noexcept {
        second(flushPoint);
        const Model& last = *last_;
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

    // As second() returned last.
    std::time_t latestSecond() const noexcept { return second_; }

    std::string_view date(std::time_t now) noexcept { return date_.at(now); }

  private:
    static constexpr std::size_t capacity = 4;
    static constexpr unsigned adoptEvery = 32;  // responses with other headers than the model's, until one becomes it

    static std::time_t systemSecond() noexcept;
    void readClock(std::uint64_t flushPoint) noexcept;
    Model* add(Status status, const HeaderList& headers, const std::string* serverName, std::time_t now);
    void renew(Model& model, const HeaderList& headers, std::time_t now);
    // How the headers of a response compare with those of its model.
    struct Lines {
        std::size_t alike = 0;  // so many have the lengths of the model's, and names of the model
        bool differ = false;    // the value of one of these is another one
        bool refused = false;   // such a value must not be sent
    };
    static Lines overwriteValues(const Model& model, const HeaderList& headers, char* out) noexcept;
    static std::size_t firstDifference(const HeaderList& left, const HeaderList& right, std::size_t from) noexcept;
    bool encode(Model& model, Status status, const HeaderList& headers, const std::string* serverName, std::time_t now);
    void setDate(Model& model, std::time_t now);
    void setLength(Model& model, std::uint64_t length);

    std::vector<std::unique_ptr<const std::string>> serverNames_;  // usually one
    std::array<Model, capacity> models_;
    const Model unknown_;
    const Model* last_ = &unknown_;                 // the model whose head was written last, if its date is second_
    std::uint64_t flushPoint_ = ~std::uint64_t{0};  // none yet
    std::time_t second_ = 0;
    const SecondClock clock_;
    std::size_t oldest_ = 0;
    std::string scratch_;
    DateCache date_;
};

}  // namespace weft::http::detail
