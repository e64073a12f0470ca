#include <weft/pipeline/http/request.hpp>

#include <new>

namespace weft::http {

namespace detail {

// Only the copy of a table that is not inside the head allocates, and it may throw.
RequestDataPointer makeRequestData(const RequestHead& head) {
    void* block = weft::detail::ThreadCache::allocate(sizeof(RequestData));
    try {
        return RequestDataPointer(::new (block) RequestData(head));
    } catch (...) {
        weft::detail::ThreadCache::release(block, sizeof(RequestData));
        throw;
    }
}

}  // namespace detail

std::string_view Request::path() const noexcept {
    std::string_view path = target();
    if (data_->head.targetForm == TargetForm::absolute) {
        const auto authority = path.find("://");
        const auto slash = path.find_first_of("/?", authority + 3);
        path = slash == std::string_view::npos ? std::string_view("/") : path.substr(slash);
        if (path.front() == '?') return "/";
    }
    return path.substr(0, path.find('?'));
}

std::optional<std::string_view> Request::query(std::string_view name) const noexcept {
    const std::string_view whole = target();
    const auto mark = whole.find('?');
    if (mark == std::string_view::npos) return std::nullopt;
    for (std::string_view rest = whole.substr(mark + 1); !rest.empty();) {
        const auto end = rest.find('&');
        const std::string_view pair = rest.substr(0, end);
        const auto equals = pair.find('=');
        if (pair.substr(0, equals) == name) {
            return equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
        }
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return std::nullopt;
}

std::optional<std::string_view> Request::header(std::string_view name) const noexcept {
    const HeaderField* field = data_->head.headers.find(name, data_->bytes.view());
    if (field == nullptr) return std::nullopt;
    return text(field->value);
}

HeaderView Request::headerAt(std::size_t index) const noexcept {
    const HeaderField& field = data_->head.headers.fields()[index];
    return {text(field.name), text(field.value)};
}

}  // namespace weft::http
