// http::Error: what a route's function throws to answer with an error.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/http/header_list.hpp>
#include <weft/http/status.hpp>

namespace weft::http {

//     throw http::Error(http::Status::notFound, "no item " + std::to_string(id));
// The text is for the client. An ordinary answer is returned instead, also one such as 304 or a redirection.
class Error : public std::runtime_error {
  public:
    // `status`: 400 to 999, else throws std::invalid_argument. Without a text, what() is the status's reason phrase.
    explicit Error(Status status, std::string_view text = {});

    Status status() const noexcept { return status_; }
    bool hasText() const noexcept { return hasText_; }
    // A field of the answer, such as WWW-Authenticate or Retry-After, also of one that onError() makes.
    Error& with(std::string_view name, std::string_view value) &;
    Error&& with(std::string_view name, std::string_view value) && { return std::move(with(name, value)); }
    const HeaderList& headers() const noexcept { return headers_ ? *headers_ : noTrailers(); }

  private:
    Status status_;
    bool hasText_;
    std::shared_ptr<const HeaderList> headers_;  // shared by copies, which so do not throw; null: none
};

}  // namespace weft::http
