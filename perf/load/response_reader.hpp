// Splits a connection's byte stream into HTTP/1.1 responses and checks each. Knows nothing of sockets and time.
// One reader per connection; all readers of a client share one KnownResponse. A response that is byte for byte the
// last correct one needs no parsing (its own length is in its bytes), which is what keeps the client lighter than the
// servers; a changed Date or a wrong answer falls through to the parser.
#pragma once

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::perf {

struct Expectation {
    bool checkBody = false;
    std::string body = "Hello, World!";
};

struct KnownResponse {
    std::string bytes;  // the last complete, correct response; empty until there is one
};

class ResponseReader {
  public:
    struct Batch {
        unsigned responses = 0;
        unsigned wrong = 0;             // of those: not 200, or not the expected body
        const char* failure = nullptr;  // set when the stream cannot be parsed any further
    };

    ResponseReader(const Expectation& expected, KnownResponse& known) : expected_(&expected), known_(&known) {}

    Batch consume(const char* data, std::size_t size) {
        Batch batch;
        std::string_view rest(data, size);
        std::string joined;
        if (!partial_.empty()) {
            joined = std::move(partial_);
            joined.append(rest);
            rest = joined;
            partial_.clear();
        }
        while (!rest.empty() && !batch.failure && takeOne(rest, batch)) {
        }
        if (!batch.failure) partial_.assign(rest);
        return batch;
    }

  private:
    static constexpr std::size_t maxHead = 16 * 1024;
    static constexpr std::size_t maxKept = 32 * 1024;  // larger responses are skipped, not kept

    struct Head {
        std::size_t size = 0;
        std::size_t bodySize = 0;
        int status = 0;
    };

    // Takes one response, or a part of a skipped body, from the front. Returns false when it needs more bytes.
    bool takeOne(std::string_view& rest, Batch& batch) {
        if (skip_ > 0) return takeSkipped(rest, batch);
        const std::string& known = known_->bytes;
        if (!known.empty() && rest.size() >= known.size() && memcmp(rest.data(), known.data(), known.size()) == 0) {
            rest.remove_prefix(known.size());
            ++batch.responses;
            return true;
        }
        const std::size_t end = rest.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            if (rest.size() > maxHead) batch.failure = "response head larger than 16 KiB";
            return false;
        }
        Head head;
        head.size = end + 4;
        if (!parseHead(rest.substr(0, end + 2), head, batch)) return false;
        const std::size_t whole = head.size + head.bodySize;
        if (whole > maxKept) {
            skip_ = whole;
            skippedIsWrong_ = head.status != 200 || expected_->checkBody;
            return takeSkipped(rest, batch);
        }
        if (rest.size() < whole) return false;
        const bool right =
            head.status == 200 && (!expected_->checkBody || rest.substr(head.size, head.bodySize) == expected_->body);
        if (right) known_->bytes.assign(rest.substr(0, whole));
        rest.remove_prefix(whole);
        ++batch.responses;
        batch.wrong += !right;
        return true;
    }

    bool takeSkipped(std::string_view& rest, Batch& batch) {
        const std::size_t taken = std::min(skip_, rest.size());
        rest.remove_prefix(taken);
        skip_ -= taken;
        if (skip_ > 0) return false;
        ++batch.responses;
        batch.wrong += skippedIsWrong_;
        return true;
    }

    // `text` is the status line and the header lines, each with its CRLF.
    static bool parseHead(std::string_view text, Head& head, Batch& batch) {
        if (!text.starts_with("HTTP/1.") || text.size() < 14 || !parseNumber(text.substr(9, 3), head.status)) {
            batch.failure = "not an HTTP/1.x status line";
            return false;
        }
        bool sized = head.status == 204 || head.status == 304;
        for (text.remove_prefix(text.find("\r\n") + 2); !text.empty(); text.remove_prefix(text.find("\r\n") + 2)) {
            const std::string_view line = text.substr(0, text.find("\r\n"));
            if (hasName(line, "transfer-encoding:")) batch.failure = "Transfer-Encoding: only Content-Length is read";
            if (!hasName(line, "content-length:")) continue;
            sized = parseNumber(line.substr(std::min(line.find_first_not_of(" \t", 15), line.size())), head.bodySize);
        }
        if (!sized && !batch.failure) batch.failure = "response without a valid Content-Length";
        return !batch.failure;
    }

    static bool hasName(std::string_view line, std::string_view name) {
        return line.size() >= name.size() && strncasecmp(line.data(), name.data(), name.size()) == 0;
    }

    template <class Number>
    static bool parseNumber(std::string_view text, Number& number) {
        while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc{} && end == text.data() + text.size();
    }

    const Expectation* expected_;
    KnownResponse* known_;
    std::string partial_;   // an incomplete response head
    std::size_t skip_ = 0;  // bytes left of a response too large to keep
    bool skippedIsWrong_ = false;
};

}  // namespace weft::perf
