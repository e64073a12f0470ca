#include "chaos/http_answers.hpp"

#include <algorithm>
#include <charconv>

namespace weft::test {

namespace {

using Result = AnswerReader::Result;

constexpr std::size_t longest = 1 << 24;  // bytes of a body

bool isToken(std::string_view text) {
    const auto allowed = [](unsigned char c) { return c > ' ' && c < 127 && c != ':' && c != '"' && c != ','; };
    return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

bool isValue(std::string_view text) {
    const auto forbidden = [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; };
    return std::none_of(text.begin(), text.end(), forbidden);
}

// The number that all of `text` spells, without signs or anything else; else npos.
std::size_t numberOf(std::string_view text, int base) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    const bool good = error == std::errc{} && end == text.data() + text.size() && number <= longest;
    return good ? number : std::string_view::npos;
}

// Reads the next line of `input` at `at` and moves `at` past its CRLF; false when the line is incomplete.
bool nextLine(std::string_view input, std::size_t& at, std::string_view& line) {
    const std::size_t end = input.find("\r\n", at);
    if (end == std::string_view::npos) return false;
    line = input.substr(at, end - at);
    at = end + 2;
    return true;
}

}  // namespace

std::string HttpAnswer::header(std::string_view name) const {
    std::string found;
    for (const auto& [field, value] : headers) {
        if (field == name) found = found.empty() ? value : found + " AND " + value;
    }
    return found;
}

Result AnswerReader::bad(std::string what) {
    fault_ = std::move(what);
    return Result::fault;
}

Result AnswerReader::take(std::string& input, std::string_view method, bool ended) {
    answer_ = {};
    std::size_t used = 0;
    Result result = head(input, used);
    for (; result == Result::whole && answer_.status < 200 && answer_.status != 101; result = head(input, used)) {
        if (bodiless() == Result::fault) return Result::fault;
        const unsigned interims = answer_.interims + 1;
        answer_ = {};
        answer_.interims = interims;
    }
    if (result == Result::whole) result = body(input, used, method, ended);
    if (result == Result::whole) input.erase(0, used);
    return result;
}

Result AnswerReader::head(std::string_view input, std::size_t& used) {
    constexpr std::string_view beginning = "HTTP/1.1 ";
    std::string_view line;
    const std::string_view rest = input.substr(used);
    if (!beginning.starts_with(rest.substr(0, beginning.size())) && !rest.starts_with(beginning)) {
        return bad("no answer begins like this: " + std::string(rest.substr(0, 100)));
    }
    if (!nextLine(input, used, line)) return Result::more;
    if (statusLine(line) == Result::fault) return Result::fault;
    while (nextLine(input, used, line)) {
        if (line.empty()) return Result::whole;
        if (headerLine(line) == Result::fault) return Result::fault;
    }
    return Result::more;
}

Result AnswerReader::statusLine(std::string_view line) {
    const std::size_t status = line.size() >= 13 && line[12] == ' ' ? numberOf(line.substr(9, 3), 10) : 0;
    if (status < 100 || status > 599 || !isValue(line)) return bad("a bad status line: " + std::string(line));
    answer_.status = static_cast<unsigned>(status);
    return Result::whole;
}

Result AnswerReader::headerLine(std::string_view line) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos || !isToken(line.substr(0, colon)) || !isValue(line.substr(colon))) {
        return bad("a bad header line: " + std::string(line));
    }
    answer_.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    return Result::whole;
}

// RFC 9112, 6.3; stricter where a server has no reason to be lax.
Result AnswerReader::body(std::string_view input, std::size_t& used, std::string_view method, bool ended) {
    const std::string length = answer_.header("Content-Length");
    const std::string coding = answer_.header("Transfer-Encoding");
    if (!length.empty() && !coding.empty()) return bad("both a length and chunks");
    if (!coding.empty() && coding != "chunked") return bad("Transfer-Encoding: " + coding);
    const std::size_t size = length.empty() ? 0 : numberOf(length, 10);
    if (size == std::string::npos) return bad("Content-Length: " + length);
    const bool tunnel = method == "CONNECT" && answer_.status / 100 == 2;
    if (tunnel || answer_.status == 101 || answer_.status == 204) return bodiless();
    if (answer_.status == 205 && length != "0") return bad("a 205 without 'Content-Length: 0'");
    if (method == "HEAD" || answer_.status == 304) return Result::whole;
    if (!coding.empty()) return chunks(input, used);
    if (!length.empty()) return sized(input, used, size);
    answer_.untilClose = true;
    answer_.body = input.substr(used);
    used = input.size();
    return ended ? Result::whole : Result::more;
}

Result AnswerReader::bodiless() {
    if (answer_.header("Content-Length").empty() && answer_.header("Transfer-Encoding").empty()) return Result::whole;
    return bad("a " + std::to_string(answer_.status) + " that promises a body");
}

Result AnswerReader::sized(std::string_view input, std::size_t& used, std::size_t size) {
    answer_.body = input.substr(used, size);
    used += answer_.body.size();
    return answer_.body.size() == size ? Result::whole : Result::more;
}

Result AnswerReader::chunks(std::string_view input, std::size_t& used) {
    for (std::string_view line; nextLine(input, used, line);) {
        const std::size_t size = numberOf(line, 16);
        if (size == std::string_view::npos) return bad("a bad chunk size: " + std::string(line.substr(0, 100)));
        if (size == 0) {
            while (nextLine(input, used, line)) {  // the trailers
                if (line.empty()) return Result::whole;
                if (headerLine(line) == Result::fault) return Result::fault;
            }
            return Result::more;
        }
        answer_.body += input.substr(used, size);
        if (input.size() < used + size + 2) return Result::more;
        if (input.substr(used + size, 2) != "\r\n") return bad("a chunk that is longer than it says");
        used += size + 2;
    }
    return Result::more;
}

}  // namespace weft::test
