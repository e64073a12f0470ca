// DelimiterBasedFrameDecoder: frames that end with any of a few byte strings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/pipeline/codec/delimited_frame_decoder.hpp>

namespace weft {

// See DelimitedFrameDecoder. The delimiter that is complete first ends the frame, so a delimiter that begins with
// another one never does. The longest wins among those that end at the same byte.
class DelimiterBasedFrameDecoder final : public DelimitedFrameDecoder {
  public:
    // Throws std::invalid_argument when there is no delimiter, or an empty one.
    DelimiterBasedFrameDecoder(std::size_t maxLength, std::vector<std::string> delimiters, bool stripDelimiter = true,
                               bool failFast = true);

  private:
    std::optional<Boundary> find(std::string_view bytes, std::size_t searched) const override;

    const std::vector<std::string> delimiters_;
};

}  // namespace weft
