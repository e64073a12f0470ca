// The part of RequestHeadParser that decides where a request ends: from its body headers, and from all header lines
// together.
#include <weft/http/detail/request_head_parser.hpp>

#include "fault.hpp"
#include "header_rules.hpp"

namespace weft::http::detail {

using namespace seen;

Fault RequestHeadParser::noteContentLength(std::string_view text) noexcept {
    if ((seen_ & sawContentLength) != 0) return Fault::duplicateContentLength;
    const auto length = parseContentLength(text);
    if (!length) return Fault::badContentLength;
    seen_ |= sawContentLength;
    head_->contentLength = *length;
    return Fault::none;
}

Fault RequestHeadParser::noteTransferEncoding(std::string_view text) noexcept {
    if ((seen_ & sawTransferEncoding) != 0) return Fault::duplicateTransferEncoding;
    const TransferEncoding coding = parseTransferEncoding(text);
    if (coding == TransferEncoding::malformed) return Fault::badTransferEncoding;
    if (coding == TransferEncoding::notChunked) return Fault::codingNotChunked;
    seen_ |= sawTransferEncoding;
    if (coding == TransferEncoding::unknownCoding) seen_ |= sawUnknownCoding;
    return Fault::none;
}

// Refuses contradictions between header lines. 501 comes last: a request that is also malformed gets 400.
Fault RequestHeadParser::checkFraming() const noexcept {
    const bool http11 = head_->version == Version::http11;
    const bool coded = (seen_ & sawTransferEncoding) != 0;
    const bool measured = (seen_ & sawContentLength) != 0;
    if (http11 && (seen_ & sawHost) == 0) return Fault::missingHost;
    if (http11 && (seen_ & sawEmptyHost) != 0 && head_->targetForm == TargetForm::origin) return Fault::badHost;
    if (coded && !http11) return Fault::transferEncodingInHttp10;
    if (coded && measured) return Fault::lengthAndTransferEncoding;
    if (head_->method == Method::connect && (coded || (measured && head_->contentLength != 0)))
        return Fault::bodyWithConnect;
    if ((seen_ & sawUnknownCoding) != 0) return Fault::unknownTransferCoding;
    return Fault::none;
}

// The framing decision for any request, and everything else that depends on all header lines.
Verdict RequestHeadParser::decide() noexcept {
    if (const Fault fault = checkFraming(); fault != Fault::none) return fail(fault);
    const auto saw = [this](std::uint32_t bits) { return (seen_ & bits) == bits; };
    const bool http11 = head_->version == Version::http11;
    head_->bodyKind = saw(sawTransferEncoding) ? BodyKind::chunked
                      : saw(sawContentLength)  ? BodyKind::length
                                               : BodyKind::none;
    head_->keepAlive = !saw(optionClose) && (http11 || saw(optionKeepAlive));
    head_->expectContinue = http11 && saw(sawExpectContinue) && head_->hasBody();
    head_->expectUnknown = http11 && saw(sawUnknownExpect);
    head_->upgrade = http11 && saw(sawUpgrade | optionUpgrade);
    head_->hasHost = saw(sawHost);
    if (head_->targetForm == TargetForm::origin || head_->targetForm == TargetForm::asterisk)
        head_->authority = head_->hasHost ? host_ : Slice{};
    stage_ = Stage::complete;
    return Verdict::complete;
}

}  // namespace weft::http::detail
