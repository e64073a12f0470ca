#include <weft/http/response_decoder.hpp>

#include "fault.hpp"

namespace weft::http {

using detail::BodyEvent;
using detail::BodyStep;
using detail::Fault;
using detail::refusalOf;
using detail::Verdict;

ResponseDecoder::ResponseDecoder(ReceivedHead& head, const Limits& limits)
    : mostInterimBytes_(limits.headerSectionBytes), parser_(head, limits), body_(limits) {}

void ResponseDecoder::start(Method method, bool mayUpgrade) noexcept {
    method_ = method;
    mayUpgrade_ = mayUpgrade;
    interimBytes_ = 0;
    parser_.start(method, mayUpgrade);
    state_ = State::head;
}

ResponseStep ResponseDecoder::fail(const Refusal& refusal, std::size_t consumed) noexcept {
    state_ = State::failed;
    refusal_ = refusal;
    return {ResponseEvent::error, consumed, {}};
}

ResponseStep ResponseDecoder::decode(std::string_view input) {
    switch (state_) {
        case State::interim:
            parser_.start(method_, mayUpgrade_);
            state_ = State::head;
            [[fallthrough]];
        case State::head: return decodeHead(input);
        case State::body: return decodeBody(input);
        case State::untilClose:
            return {input.empty() ? ResponseEvent::needMore : ResponseEvent::data, input.size(), input};
        case State::done: return {ResponseEvent::end, 0, {}};
        case State::failed: break;
    }
    return {ResponseEvent::error, 0, {}};
}

ResponseStep ResponseDecoder::decodeHead(std::string_view input) {
    const Verdict verdict = parser_.parse(input);
    if (verdict == Verdict::needMore) return {ResponseEvent::needMore, 0, {}};
    if (verdict == Verdict::error) return fail(parser_.refusal());
    const ReceivedHead& head = parser_.head();
    if (head.interim()) {
        interimBytes_ += head.consumed;
        if (interimBytes_ > mostInterimBytes_) return fail(refusalOf(Fault::interimTooLarge));
        state_ = State::interim;
        return {ResponseEvent::interim, head.consumed, {}};
    }
    body_.start(head.bodyKind, head.contentLength);
    state_ = head.untilClose ? State::untilClose : body_.finished() ? State::done : State::body;
    return {ResponseEvent::head, head.consumed, {}};
}

ResponseStep ResponseDecoder::decodeBody(std::string_view input) {
    const BodyStep step = body_.decode(input);
    if (step.event == BodyEvent::error) return fail(body_.refusal(), step.consumed);
    if (body_.finished()) state_ = State::done;
    switch (step.event) {
        case BodyEvent::data: return {ResponseEvent::data, step.consumed, step.data};
        case BodyEvent::end: return {ResponseEvent::end, step.consumed, {}};
        default: return {ResponseEvent::needMore, step.consumed, {}};
    }
}

std::string_view ResponseDecoder::takeWholeBody(std::string_view input) noexcept {
    if (state_ != State::body) return {};
    const std::string_view whole = body_.takeWhole(input);
    if (body_.finished()) state_ = State::done;
    return whole;
}

ResponseEvent ResponseDecoder::endOfInput() noexcept {
    if (state_ == State::untilClose) state_ = State::done;
    if (state_ == State::done) return ResponseEvent::end;
    if (state_ != State::failed) fail(refusalOf(Fault::endedEarly));
    return ResponseEvent::error;
}

}  // namespace weft::http
