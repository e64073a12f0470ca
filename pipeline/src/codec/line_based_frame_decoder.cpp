#include <weft/pipeline/codec/line_based_frame_decoder.hpp>

namespace weft {

std::optional<DelimitedFrameDecoder::Boundary> LineBasedFrameDecoder::find(std::string_view bytes,
                                                                           std::size_t searched) const {
    const std::size_t at = bytes.find('\n', searched);
    if (at == std::string_view::npos) return std::nullopt;
    const bool carriageReturn = at > 0 && bytes[at - 1] == '\r';
    return carriageReturn ? Boundary{at - 1, 2} : Boundary{at, 1};
}

}  // namespace weft
