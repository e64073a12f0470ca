// A response as a client reads it.
#include <string>
#include <string_view>

#include <weft/http/response_decoder.hpp>

#include "fuzz/cuts.hpp"
#include "fuzz/plain_reading.hpp"
#include "fuzz/targets.hpp"

namespace weft::fuzz {
namespace {

using namespace http;

constexpr Limits limits{.requestLineBytes = 100,
                        .headerSectionBytes = 400,
                        .headerCount = 36,
                        .chunkLineBytes = 40,
                        .chunkExtensionBytes = 60,
                        .trailerSectionBytes = 100};

class Reading {
  public:
    explicit Reading(char kind) {
        const Method method = kind == 'H' ? Method::head : kind == 'C' ? Method::connect : Method::get;
        decoder_.start(method, kind == 'U');
    }
    void take(std::string_view bytes) {
        input_ += bytes;
        for (bool more = true; more && !decoder_.finished() && !decoder_.failed();) {
            const std::string exact = input_;
            const ResponseStep step = decoder_.decode(exact);
            require(step.consumed <= exact.size(), "more consumed than there is");
            more = step.event != ResponseEvent::needMore;
            if (step.event == ResponseEvent::head || step.event == ResponseEvent::interim) {
                note(decoder_.head(), exact);
                require(decoder_.head().consumed == step.consumed, "a head that is not consumed as a whole");
            }
            text_.append(step.data);
            input_.erase(0, step.consumed);
        }
    }
    std::string outcome() {
        std::string text = text_ + "\n";
        if (decoder_.failed()) return text + "refused " + std::string(decoder_.refusal().reason);
        const bool whole = decoder_.finished();
        const bool end = decoder_.endOfInput() == ResponseEvent::end;
        require(end || !whole, "a complete response is not complete at the end of the input");
        text += whole ? "whole" : end ? "until close" : "cut";
        text += " rest " + std::to_string(input_.size());
        for (const HeaderField& field : decoder_.body().trailers()) {
            if (end) text.append(" ").append(field.name.in(decoder_.body().trailerText()));
        }
        return text;
    }

  private:
    void note(const ReceivedHead& head, std::string_view message) {
        const auto lines = linesOf(message.substr(0, head.consumed));
        require(lines[0].starts_with("HTTP/1."), "a status line of another protocol", lines[0]);
        checkFields(lines, head.headers, message);
        text_ += "\n" + std::to_string(codeOf(head.status)) + " " + std::to_string(static_cast<int>(head.bodyKind)) +
                 std::to_string(head.untilClose) + std::to_string(head.keepAlive) + std::to_string(head.switches) +
                 std::to_string(head.contentLength) + " " + std::string(head.reason.in(message)) + "|";
        for (const HeaderField& field : head.headers) {
            text_.append(field.name.in(message)).append("=").append(field.value.in(message)).append("|");
        }
    }

    ReceivedHead head_;
    ResponseDecoder decoder_{head_, limits};
    std::string input_;
    std::string text_;
};

std::string outcomeOf(char kind, std::string_view bytes, Cut cut) {
    Reading reading(kind);
    deliver(bytes, cut, [&](std::string_view piece) { reading.take(piece); });
    return reading.outcome();
}

}  // namespace

void responseTarget(std::string_view bytes) {
    if (bytes.empty()) return;
    const char kind = bytes.front();
    bytes.remove_prefix(1);
    const std::string whole = outcomeOf(kind, bytes, Cut::whole);
    requireSame(whole, outcomeOf(kind, bytes, Cut::some), "a response in pieces is read otherwise");
    if (bytes.size() < 600) requireSame(whole, outcomeOf(kind, bytes, Cut::bytes), "byte by byte it is read otherwise");
}

}  // namespace weft::fuzz
