// Copies the trailers that a body decoder has parsed into a list. Private to the codecs.
#pragma once

#include <memory>

#include <weft/http/detail/body_decoder.hpp>
#include <weft/http/header_list.hpp>

namespace weft::http::detail {

// Returns null if there are none. Call it after BodyDecoder::finished().
inline std::unique_ptr<HeaderList> trailersOf(const BodyDecoder& body) {
    if (body.trailers().empty()) return nullptr;
    auto list = std::make_unique<HeaderList>();
    for (const HeaderField& field : body.trailers()) {
        list->add(field.name.in(body.trailerText()), field.value.in(body.trailerText()));
    }
    return list;
}

}  // namespace weft::http::detail
