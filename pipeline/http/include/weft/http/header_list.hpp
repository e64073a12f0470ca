// HeaderList: an ordered list of header fields that owns its text. Small lists are stored inside the object.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/http/response_encoder.hpp>

namespace weft::http {

namespace detail {
class HeadCache;
}

// Copies its input. Allocates only beyond 8 headers or 192 bytes of text. Names and values are checked when the message
// is encoded, so that an invalid one fails the promise of the write.
class HeaderList {
  public:
    static constexpr std::size_t inlineHeaders = 8;
    static constexpr std::size_t inlineBytes = 192;

    HeaderList() noexcept {}  // leaves the storage uninitialised
    HeaderList(const HeaderList& other) { *this = other; }
    HeaderList(HeaderList&& other) noexcept { *this = std::move(other); }
    HeaderList& operator=(const HeaderList& other);
    // Leaves `other` empty.
    HeaderList& operator=(HeaderList&& other) noexcept {
        large_ = std::move(other.large_);
        count_ = std::exchange(other.count_, 0);
        textSize_ = std::exchange(other.textSize_, 0);
        if (!large_) copyInline(other);
        return *this;
    }
    ~HeaderList() = default;

    // Same headers in the same order, compared byte for byte.
    [[gnu::always_inline]] friend bool operator==(const HeaderList& left, const HeaderList& right) noexcept {
        if (left.count_ != right.count_ || left.textSize_ != right.textSize_) return false;
        if (left.large_) [[unlikely]]  // the other is large, too: it has the same sizes
            return sameLarge(left, right);
        for (std::size_t at = 0; at < left.textSize_; at += block) {
            if (!sameBlock(&left.shortText_[at], &right.shortText_[at])) return false;
        }
        for (std::size_t i = 0; i < left.count_; ++i) {
            if (left.inline_[i] != right.inline_[i]) return false;
        }
        return true;
    }

    void add(std::string_view name, std::string_view value) {
        const std::size_t size = name.size() + value.size();
        if (large_ || count_ == inlineHeaders || textSize_ + size > inlineBytes) [[unlikely]] {
            return addLarge(name, value);
        }
        char* const at = shortText_.data() + textSize_;
        if (!name.empty()) std::memcpy(at, name.data(), name.size());
        if (!value.empty()) std::memcpy(at + name.size(), value.data(), value.size());
        std::memset(at + size, 0, block);
        inline_[count_++] = entryOf(name, value);
        textSize_ += static_cast<std::uint32_t>(size);
    }
    // Adds the field in place of all fields with this name (case-insensitive).
    void set(std::string_view name, std::string_view value);
    std::size_t size() const noexcept { return count_; }
    // Bytes of the first `count` names and values; count <= size().
    std::size_t textBytes(std::size_t count) const noexcept {
        return count == size() ? textSize_ : count == 0 ? 0 : entries()[count - 1].valueEnd;
    }
    // Lifetime: until the list is changed, moved or destroyed. index < size().
    HeaderView at(std::size_t index) const noexcept { return view(index); }
    // The first value with this name (case-insensitive), which may be empty; nothing if there is none. Lifetime: as of
    // at().
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    bool contains(std::string_view name) const noexcept { return find(name).has_value(); }

    // Calls visit(span of HeaderView) with all headers, followed by `extra` unless its name is empty.
    template <class Visit>
    auto visit(const HeaderView& extra, Visit visit) const {
        const std::size_t total = count_ + (extra.name.empty() ? 0 : 1);
        constexpr std::size_t most = inlineHeaders + 1;
        alignas(HeaderView) std::array<std::byte, most * sizeof(HeaderView)> few;  // not set: most lists are short
        std::vector<HeaderView> many(total > most ? total : 0);
        HeaderView* const views = many.empty() ? reinterpret_cast<HeaderView*>(few.data()) : many.data();
        for (std::size_t i = 0; i < count_; ++i) std::construct_at(views + i, view(i));
        if (total > count_) std::construct_at(views + count_, extra);
        return visit(std::span<const HeaderView>(views, total));
    }

  private:
    friend class detail::HeadCache;

    // Short texts are copied and compared in blocks: most responses have two or three headers, for which a library call
    // would cost more.
    static constexpr std::size_t block = 16;

    static bool sameBlock(const char* left, const char* right) noexcept {
        std::uint64_t l[2], r[2];
        std::memcpy(l, left, block);
        std::memcpy(r, right, block);
        return ((l[0] ^ r[0]) | (l[1] ^ r[1])) == 0;
    }

    // Offsets of the ends. A name begins where the previous value ends.
    struct Entry {
        std::uint32_t nameEnd;
        std::uint32_t valueEnd;
        friend bool operator==(const Entry& left, const Entry& right) noexcept {
            return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
        }
    };
    // Holds the whole list once it exceeds the inline header count or text size.
    struct Large {
        std::string text;
        std::vector<Entry> entries;
    };

    const Entry* entries() const noexcept { return large_ ? large_->entries.data() : inline_.data(); }
    const char* text() const noexcept { return large_ ? large_->text.data() : shortText_.data(); }
    HeaderView view(std::size_t index) const noexcept {
        const Entry& entry = entries()[index];
        const char* const name = text() + (index == 0 ? 0 : entries()[index - 1].valueEnd);
        const char* const value = text() + entry.nameEnd;
        return {{name, static_cast<std::size_t>(value - name)}, {value, entry.valueEnd - entry.nameEnd}};
    }
    // The entry of a header that is about to be added.
    Entry entryOf(std::string_view name, std::string_view value) const noexcept {
        const auto nameEnd = static_cast<std::uint32_t>(textSize_ + name.size());
        return {nameEnd, static_cast<std::uint32_t>(nameEnd + value.size())};
    }
    static bool sameLarge(const HeaderList& left, const HeaderList& right) noexcept;
    // Copies only the used part of the storage.
    void copyInline(const HeaderList& other) noexcept {
        for (std::size_t i = 0; i < count_; ++i) inline_[i] = other.inline_[i];
        for (std::size_t at = 0; at < textSize_; at += block) {
            std::memcpy(&shortText_[at], &other.shortText_[at], block);
        }
    }
    void addLarge(std::string_view name, std::string_view value);

    std::uint32_t count_ = 0;
    std::uint32_t textSize_ = 0;
    std::unique_ptr<Large> large_;
    std::array<Entry, inlineHeaders> inline_;
    std::array<char, inlineBytes + block> shortText_;  // zeros after the text
};

// An empty list. Lifetime: the whole program.
const HeaderList& noTrailers() noexcept;

}  // namespace weft::http
