// Requests as a server reads them, heads and bodies, one after the other: the outcome does not depend on the cuts, and
// a plain reader agrees with it.
#include <string>
#include <string_view>

#include <weft/http/detail/body_decoder.hpp>

#include "fuzz/cuts.hpp"
#include "fuzz/plain_reading.hpp"
#include "fuzz/targets.hpp"
#include "support/head_reader.hpp"

namespace weft::fuzz {
namespace {

using namespace http;
using http::detail::BodyDecoder;
using http::detail::BodyEvent;
using http::detail::BodyStep;
using http::detail::Verdict;

// Small, so that short inputs reach them.
constexpr Limits limits{.requestLineBytes = 200,
                        .headerSectionBytes = 400,
                        .headerCount = 36,
                        .chunkLineBytes = 40,
                        .chunkExtensionBytes = 60,
                        .trailerSectionBytes = 100};

class Reading {
  public:
    void take(std::string_view bytes) {
        input_ += bytes;
        while (!refused_ && (inBody_ ? readBody() : readHead())) {
        }
    }
    std::string outcome() const { return text_ + (refused_ ? "" : inBody_ ? "\n(body)" : "\n(more)"); }

  private:
    bool readHead() {
        const std::string exact = input_;
        const Verdict verdict = parser_.parse(exact);
        if (verdict == Verdict::needMore) return false;
        if (verdict == Verdict::error) return refuse(parser_.refusal());
        const RequestHead& head = parser_.head();
        check(head, exact);
        text_ += "\n" + std::string(head.methodText.in(exact)) + " " + std::string(head.target.in(exact)) + " " +
                 std::to_string(static_cast<int>(head.version)) + std::to_string(static_cast<int>(head.targetForm)) +
                 std::to_string(head.keepAlive) + std::to_string(head.expectContinue) +
                 std::to_string(head.expectUnknown) + std::to_string(head.hasHost) + std::to_string(head.upgrade) +
                 std::string(head.authority.in(exact)) + "|";
        for (const HeaderField& field : head.headers) {
            text_.append(field.name.in(exact)).append("=").append(field.value.in(exact)).append("|");
        }
        inBody_ = head.hasBody();
        body_.start(head);
        input_.erase(0, head.consumed);
        parser_.reset();
        return true;
    }
    bool readBody() {
        const BodyStep step = body_.decode(input_);
        require(step.consumed <= input_.size(), "more consumed than there is");
        text_.append(step.data);
        input_.erase(0, step.consumed);
        if (step.event == BodyEvent::error) return refuse(body_.refusal());
        for (const HeaderField& field : body_.trailers()) {
            if (body_.finished()) text_.append(field.name.in(body_.trailerText()));
        }
        inBody_ = !body_.finished();
        return step.event != BodyEvent::needMore;
    }
    bool refuse(const Refusal& refusal) {
        refused_ = true;
        text_ += "\nrefused " + std::to_string(codeOf(refusal.status)) + " " + std::string(refusal.reason);
        return false;
    }
    static void check(const RequestHead& head, std::string_view message) {
        require(head.consumed <= message.size(), "a head of more bytes than there are");
        std::string_view text = message.substr(0, head.consumed);
        if (text.starts_with("\r\n")) text.remove_prefix(2);
        const auto lines = linesOf(text);
        const std::string line = std::string(head.methodText.in(message)) + " " + std::string(head.target.in(message));
        require(lines[0].substr(0, line.size()) == line, "method and target are not those of the line", lines[0]);
        require(lines[0].substr(line.size()).starts_with(" HTTP/1.") && lines[0].size() == line.size() + 9,
                "a request line with more than three parts", lines[0]);
        const Named named = checkFields(lines, head.headers, message);
        require((named.codings == 1) == (head.bodyKind == BodyKind::chunked), "chunked is not what the head says");
        require((named.lengths == 1) == (head.bodyKind == BodyKind::length), "the length is not what the head says");
        const std::string_view target = head.target.in(message);
        require(target.substr(0, head.pathSize) == target.substr(0, target.find('?')), "the path is another", target);
        require(named.hosts <= 1, "an accepted head has two Hosts", message);
        require(head.version == Version::http10 || named.hosts == 1, "HTTP/1.1 without a Host");
    }

    std::string input_;
    std::string text_;
    test::HeadReader parser_{limits};
    BodyDecoder body_{limits};
    bool inBody_ = false;
    bool refused_ = false;
};

std::string outcomeOf(std::string_view bytes, Cut cut) {
    Reading reading;
    deliver(bytes, cut, [&](std::string_view piece) { reading.take(piece); });
    return reading.outcome();
}

}  // namespace

void requestTarget(std::string_view bytes) {
    const std::string whole = outcomeOf(bytes, Cut::whole);
    requireSame(whole, outcomeOf(bytes, Cut::some), "requests in pieces are read otherwise");
    if (bytes.size() < 600)
        requireSame(whole, outcomeOf(bytes, Cut::bytes), "requests byte by byte are read otherwise");
}

}  // namespace weft::fuzz
