#include <weft/pipeline/codec/delimiter_based_frame_decoder.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weft {

namespace {

std::size_t longestOf(const std::vector<std::string>& delimiters) {
    std::size_t longest = 0;
    for (const std::string& delimiter : delimiters) {
        if (delimiter.empty()) {
            throw std::invalid_argument("DelimiterBasedFrameDecoder: a delimiter is empty; give at least one byte");
        }
        longest = std::max(longest, delimiter.size());
    }
    if (longest == 0) {
        throw std::invalid_argument("DelimiterBasedFrameDecoder: there are no delimiters; give at least one");
    }
    return longest;
}

}  // namespace

DelimiterBasedFrameDecoder::DelimiterBasedFrameDecoder(std::size_t maxLength, std::vector<std::string> delimiters,
                                                       bool stripDelimiter, bool failFast)
    : DelimitedFrameDecoder("DelimiterBasedFrameDecoder", maxLength, longestOf(delimiters), stripDelimiter, failFast),
      delimiters_(std::move(delimiters)) {}

// A delimiter that ends after `searched` may begin before it.
std::optional<DelimitedFrameDecoder::Boundary> DelimiterBasedFrameDecoder::find(std::string_view bytes,
                                                                                std::size_t searched) const {
    std::optional<Boundary> best;
    for (const std::string& delimiter : delimiters_) {
        const std::size_t overlap = delimiter.size() - 1;
        const std::size_t at = bytes.find(delimiter, searched > overlap ? searched - overlap : 0);
        if (at == std::string_view::npos) continue;
        const std::size_t end = at + delimiter.size();
        const std::size_t bestEnd = best ? best->frame + best->delimiter : 0;
        if (best && (end > bestEnd || (end == bestEnd && at >= best->frame))) continue;
        best = Boundary{at, delimiter.size()};
        bytes = bytes.substr(0, end);  // the other delimiters must end no later
    }
    return best;
}

}  // namespace weft
