// HeaderList: the headers of a response, owned, in order; small sets live inside the object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/pipeline/http/response_encoder.hpp>

namespace weft::http {

// Copies what it is given. Allocates only beyond 8 headers or 192 bytes of text. Names and values are checked when the
// response is encoded, so that a bad one can be reported to whoever waits for the write.
class HeaderList {
  public:
    static constexpr std::size_t inlineHeaders = 8;
    static constexpr std::size_t inlineBytes = 192;

    HeaderList() noexcept {}  // leaves its room uninitialised
    // Same headers, spelled the same, in the same order.
    friend bool operator==(const HeaderList& left, const HeaderList& right) noexcept {
        return left.count_ == right.count_ && left.textSize_ == right.textSize_ &&
               std::memcmp(left.text(), right.text(), left.textSize_) == 0 &&
               std::memcmp(left.entries(), right.entries(), left.count_ * sizeof(Entry)) == 0;
    }

    void add(std::string_view name, std::string_view value);
    std::size_t size() const noexcept { return count_; }
    // The first value of this name (case-insensitive); null data when there is none.
    std::string_view find(std::string_view name) const noexcept;

    // Calls visit(span of HeaderView) with all headers and, unless its name is empty, `extra` behind them.
    template <class Visit>
    auto visit(const HeaderView& extra, Visit visit) const {
        const std::size_t total = count_ + (extra.name.empty() ? 0 : 1);
        std::array<HeaderView, inlineHeaders + 1> few;
        std::vector<HeaderView> many(total > few.size() ? total : 0);
        HeaderView* views = many.empty() ? few.data() : many.data();
        for (std::size_t i = 0; i < count_; ++i) views[i] = view(entries()[i]);
        if (total > count_) views[count_] = extra;
        return visit(std::span<const HeaderView>(views, total));
    }

  private:
    struct Entry {
        std::uint32_t offset;  // of the name; the value follows it
        std::uint32_t nameSize;
        std::uint32_t valueSize;
    };

    const Entry* entries() const noexcept { return count_ > inlineHeaders ? spilled_.data() : inline_.data(); }
    const char* text() const noexcept { return longText_.empty() ? shortText_.data() : longText_.data(); }
    HeaderView view(const Entry& entry) const noexcept {
        const char* name = text() + entry.offset;
        return {{name, entry.nameSize}, {name + entry.nameSize, entry.valueSize}};
    }
    std::uint32_t append(std::string_view name, std::string_view value);

    std::uint32_t count_ = 0;
    std::uint32_t textSize_ = 0;
    std::array<Entry, inlineHeaders> inline_;
    std::array<char, inlineBytes> shortText_;
    std::string longText_;        // all of the text, once it is more than inlineBytes
    std::vector<Entry> spilled_;  // all entries, once there are more than inlineHeaders
};

}  // namespace weft::http
