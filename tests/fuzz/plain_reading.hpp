// A second, deliberately simple reader of accepted heads: it must agree with the parsers on everything that they
// accept. It was written without reading their code, so a common mistake is unlikely.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/request_head.hpp>

#include "fuzz/targets.hpp"

namespace weft::fuzz {

inline std::vector<std::string_view> linesOf(std::string_view head) {
    std::vector<std::string_view> lines;
    for (;;) {
        const std::size_t end = head.find("\r\n");
        require(end != std::string_view::npos, "an accepted head does not end with an empty line", head);
        lines.push_back(head.substr(0, end));
        head.remove_prefix(end + 2);
        if (end == 0) break;
    }
    require(head.empty(), "an accepted head has an empty line inside", head);
    return lines;
}

inline std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

// Compares the header lines of `lines` (from index 1 on, without the empty one) with the parser's table of them.
// Returns how many are named Content-Length, Transfer-Encoding and Host.
struct Named {
    int lengths = 0;
    int codings = 0;
    int hosts = 0;
};
inline Named checkFields(const std::vector<std::string_view>& lines, const http::HeaderTable& table,
                         std::string_view message) {
    Named named;
    require(table.size() == lines.size() - 2, "header lines and table differ in number", message);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const std::string_view line = lines[i + 1];
        for (const char c : line) {
            const auto byte = static_cast<unsigned char>(c);
            require(byte == '\t' || (byte >= 0x20 && byte != 0x7f), "a control character in an accepted head", line);
        }
        const std::size_t colon = line.find(':');
        require(colon != std::string_view::npos && colon > 0, "an accepted header line without a name", line);
        const std::string_view name = line.substr(0, colon);
        for (const char c : name) {
            const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
            require(good, "an accepted header name is not a token", line);
        }
        std::string_view value = line.substr(colon + 1);
        while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
        while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
        require(table.fields()[i].name.in(message) == name, "a header name was read otherwise", line);
        require(table.fields()[i].value.in(message) == value, "a header value was read otherwise", line);
        const std::string low = lowered(name);
        named.lengths += low == "content-length";
        named.codings += low == "transfer-encoding";
        named.hosts += low == "host";
    }
    require(named.lengths + named.codings <= 1, "an accepted head has two framings", message);
    return named;
}

}  // namespace weft::fuzz
