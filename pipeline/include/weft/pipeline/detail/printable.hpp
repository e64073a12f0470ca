// printable(): makes text from outside the program safe to show in an error message or a log line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

// Replaces the bytes 0x00 to 0x1f and 0x7f by escapes such as "\x0a", so that the result is one line without NUL bytes.
// Other bytes, backslashes and invalid UTF-8 included, are unchanged. Text beyond `most` bytes is replaced by "...".
// The result may be longer than `most`, because an escape takes four bytes. With `exact`, the backslash and the bytes
// from 0x80 on are replaced, too, so that the result tells which bytes they were. Context: any thread. Allocates.
inline std::string printable(std::string_view text, std::size_t most = 300, bool exact = false) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    for (const char c : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f && !(exact && (byte > 0x7f || c == '\\'))) {
            shown += c;
        } else {
            shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return text.size() > most ? shown + "..." : shown;
}

}  // namespace weft::detail
