#include <weft/http/error.hpp>

#include <weft/pipeline/detail/printable.hpp>

namespace weft::http {

namespace {

Status checked(Status status) {
    if (codeOf(status) >= 400 && codeOf(status) <= 999) return status;
    throw std::invalid_argument("http::Error: the status is " + std::to_string(codeOf(status)) +
                                "; accepted: 400 to 999; return any other answer");
}

std::string textOf(Status status, std::string_view text) {
    if (!text.empty()) return std::string(text);
    const std::string_view phrase = reasonPhrase(status);
    return phrase.empty() ? "status " + std::to_string(codeOf(status)) : std::string(phrase);
}

}  // namespace

Error::Error(Status status, std::string_view text)
    : std::runtime_error(textOf(status, text)), status_(checked(status)), hasText_(!text.empty()) {}

Error& Error::with(std::string_view name, std::string_view value) & {
    auto changed = headers_ ? std::make_shared<HeaderList>(*headers_) : std::make_shared<HeaderList>();
    changed->add(name, value);
    headers_ = std::move(changed);
    return *this;
}

}  // namespace weft::http
