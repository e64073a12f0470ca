// What a request head parser makes of a message, as one text, however the message is cut into pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/detail/request_head_parser.hpp>

#include "support/head_reader.hpp"

namespace weft::http::test {

using detail::Verdict;

// A copy in memory of exactly this size, so that a sanitizer sees every read past the end.
class ExactCopy {
  public:
    explicit ExactCopy(std::string_view bytes) : bytes_(new char[bytes.size()]), size_(bytes.size()) {
        std::copy(bytes.begin(), bytes.end(), bytes_.get());
    }
    std::string_view view() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_;
};

inline std::string summaryOf(const RequestHead& head, std::string_view message) {
    static constexpr const char* forms[] = {"origin", "absolute", "authority", "asterisk"};
    std::string text(head.methodText.in(message));
    if (!isKnown(head.method)) text += "?";
    text += " " + std::string(head.target.in(message)) + (head.version == Version::http11 ? " 1.1 " : " 1.0 ");
    text += forms[static_cast<int>(head.targetForm)];
    text += head.bodyKind == BodyKind::none      ? " none"
            : head.bodyKind == BodyKind::chunked ? " chunked"
                                                 : " length=" + std::to_string(head.contentLength);
    text += head.keepAlive ? " keep" : " close";
    if (!head.hasHost) text += " nohost";
    if (head.expectContinue) text += " expect";
    if (head.expectUnknown) text += " expect?";
    if (head.upgrade) text += " upgrade";
    if (head.targetForm == TargetForm::absolute || head.targetForm == TargetForm::authority)
        text += " authority=" + std::string(head.authority.in(message));
    return text;
}

// All properties of a parsed message as one text.
inline std::string outcomeOf(const HeadReader& parser, Verdict verdict, std::string_view message) {
    if (verdict == Verdict::needMore) return "needMore";
    if (verdict == Verdict::error)
        return std::to_string(codeOf(parser.refusal().status)) + " " + std::string(parser.refusal().reason);
    const RequestHead& head = parser.head();
    std::string text = summaryOf(head, message) + " consumed=" + std::to_string(head.consumed) +
                       " length=" + std::to_string(head.contentLength) +
                       " authority=" + std::string(head.authority.in(message)) +
                       " path=" + std::string(head.target.in(message).substr(0, head.pathSize));
    for (const HeaderField& field : head.headers)
        text += "\n" + std::string(field.name.in(message)) + "=[" + std::string(field.value.in(message)) + "]";
    return text;
}

inline std::string feed(HeadReader& parser, std::string_view message) {
    const ExactCopy copy(message);
    const Verdict verdict = parser.parse(copy.view());
    return outcomeOf(parser, verdict, copy.view());
}

inline std::string wholeOutcome(std::string_view message) {
    HeadReader parser;
    return feed(parser, message);
}

// Delivers growing prefixes that end at these positions, then the whole message; stops at a final verdict.
inline std::string pieceOutcome(HeadReader& parser, std::string_view message, const std::vector<std::size_t>& cuts) {
    for (const std::size_t cut : cuts) {
        const std::string outcome = feed(parser, message.substr(0, cut));
        if (outcome != "needMore") return outcome;
    }
    return feed(parser, message);
}

inline std::vector<std::size_t> everyByte(std::size_t size) {
    std::vector<std::size_t> cuts(size);
    for (std::size_t i = 0; i < size; ++i) cuts[i] = i;
    return cuts;
}

inline std::vector<std::size_t> randomCuts(std::size_t size, std::mt19937& random) {
    std::vector<std::size_t> cuts;
    std::uniform_int_distribution<std::size_t> step(1, std::max<std::size_t>(1, std::min<std::size_t>(40, size)));
    for (std::size_t at = step(random); at < size; at += step(random)) cuts.push_back(at);
    return cuts;
}

inline std::uint32_t newSeed() {
    return std::random_device{}();
}

}  // namespace weft::http::test
