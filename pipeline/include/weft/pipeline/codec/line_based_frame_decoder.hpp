// LineBasedFrameDecoder: frames that end with LF or CR LF.
#pragma once

#include <cstddef>

#include <weft/pipeline/codec/delimited_frame_decoder.hpp>

namespace weft {

// See DelimitedFrameDecoder. A CR that no LF follows is a byte of its line.
class LineBasedFrameDecoder final : public DelimitedFrameDecoder {
  public:
    explicit LineBasedFrameDecoder(std::size_t maxLength, bool stripDelimiter = true, bool failFast = true)
        : DelimitedFrameDecoder("LineBasedFrameDecoder", maxLength, 2, stripDelimiter, failFast) {}

  private:
    std::optional<Boundary> find(std::string_view bytes, std::size_t searched) const override {
        const std::size_t at = bytes.find('\n', searched);
        if (at == std::string_view::npos) return std::nullopt;
        const bool carriageReturn = at > 0 && bytes[at - 1] == '\r';
        return carriageReturn ? Boundary{at - 1, 2} : Boundary{at, 1};
    }
};

}  // namespace weft
