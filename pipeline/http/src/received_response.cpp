#include <weft/http/received_response.hpp>

namespace weft::http {

std::optional<std::string_view> ReceivedResponse::header(std::string_view name) const noexcept {
    const HeaderField* field = data_->head.headers.find(name, data_->bytes.view());
    if (field == nullptr) return std::nullopt;
    return text(field->value);
}

HeaderView ReceivedResponse::headerAt(std::size_t index) const noexcept {
    const HeaderField& field = data_->head.headers.fields()[index];
    return {text(field.name), text(field.value)};
}

const HeaderList& FullResponse::trailers() const noexcept {
    return data_->trailers ? *data_->trailers : noTrailers();
}

}  // namespace weft::http
