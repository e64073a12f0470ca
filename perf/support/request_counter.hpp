// The HTTP of the floors: counts complete requests by their terminators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace weft::perf {

// One per connection. A terminator may arrive in parts.
class RequestCounter {
  public:
    // How many requests end in the next `size` bytes of the connection.
    std::size_t count(const char* bytes, std::size_t size) {
        const char* const end = bytes + size;
        const char* from = bytes;  // first byte that no terminator has claimed
        std::size_t found = endsCarried(from, size);
        const char* cursor = from;
        while (const void* hit = memchr(cursor, '\n', static_cast<std::size_t>(end - cursor))) {
            const char* newline = static_cast<const char*>(hit);
            cursor = newline + 1;
            if (cursor - from >= static_cast<std::ptrdiff_t>(terminatorSize) && memcmp(newline - 3, "\r\n\r", 3) == 0) {
                ++found;
                from = cursor;
                carried_ = 0;
            }
        }
        carry(from, end);
        return found;
    }

  private:
    static constexpr std::size_t terminatorSize = 4;              // "\r\n\r\n"
    static constexpr std::size_t carrySize = terminatorSize - 1;  // longest beginning of a split terminator

    // Returns 1 and advances `from` when a terminator that began in earlier bytes ends here, else 0.
    std::size_t endsCarried(const char*& from, std::size_t size) {
        if (carried_ == 0) return 0;
        char joined[2 * carrySize];
        const std::size_t added = std::min(size, carrySize);
        memcpy(joined, carry_, carried_);
        memcpy(joined + carried_, from, added);
        for (std::size_t end = terminatorSize; end <= carried_ + added; ++end) {
            if (end <= carried_ || memcmp(joined + end - terminatorSize, "\r\n\r\n", terminatorSize) != 0) continue;
            from += end - carried_;
            carried_ = 0;
            return 1;
        }
        return 0;
    }
    void carry(const char* from, const char* end) {
        const std::size_t fresh = std::min<std::size_t>(static_cast<std::size_t>(end - from), carrySize);
        const std::size_t kept = std::min(carried_, carrySize - fresh);
        memmove(carry_, carry_ + carried_ - kept, kept);
        memcpy(carry_ + kept, end - fresh, fresh);
        carried_ = kept + fresh;
    }

    char carry_[carrySize];  // the last bytes, as far as no terminator has claimed them
    std::size_t carried_ = 0;
};

}  // namespace weft::perf
