#include "quoted_json.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "utf8.hpp"

namespace weft::detail {

std::string quotedJson(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text.front());
        const std::size_t length = utf8Length(text);
        if (length == 0) {
            quoted += "\xef\xbf\xbd";
        } else if (byte < 0x20 || byte == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", byte);
            quoted += escape;
        } else {
            if (byte == '"' || byte == '\\') quoted += '\\';
            quoted += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return quoted + '"';
}

}  // namespace weft::detail
