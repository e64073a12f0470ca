// The trailers that a body decoder has read, as a list of their own. Private to the codecs.
#pragma once

#include <memory>

#include <weft/pipeline/http/body_decoder.hpp>
#include <weft/pipeline/http/header_list.hpp>

namespace weft::http::detail {

// Null when there are none. After BodyDecoder::finished().
inline std::unique_ptr<HeaderList> trailersOf(const BodyDecoder& body) {
    if (body.trailers().empty()) return nullptr;
    auto list = std::make_unique<HeaderList>();
    for (const HeaderField& field : body.trailers()) {
        list->add(field.name.in(body.trailerText()), field.value.in(body.trailerText()));
    }
    return list;
}

}  // namespace weft::http::detail
