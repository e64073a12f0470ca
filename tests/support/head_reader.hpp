// A request head parser with the head that it fills in, and with sections of its own or of another reader, as on a
// connection.
#pragma once

#include <memory>
#include <string_view>

#include <weft/http/detail/header_sections.hpp>
#include <weft/http/detail/request_head_parser.hpp>

namespace weft::http::test {

class HeadReader {
  public:
    explicit HeadReader(const Limits& limits = {}, HeadReader* carrier = nullptr)
        : sections_(carrier != nullptr ? carrier->sections_ : std::make_shared<detail::HeaderSections>()),
          limits_(std::make_unique<const Limits>(limits)),
          parser_(*limits_) {
        parser_.share(*sections_);
    }

    detail::Verdict parse(std::string_view message) { return parser_.parse(message, *head_); }
    const RequestHead& head() const noexcept { return *head_; }
    Refusal refusal() const noexcept { return parser_.refusal(); }
    void reset() {
        parser_.reset();
        head_ = std::make_unique<RequestHead>();
    }

  private:
    std::shared_ptr<detail::HeaderSections> sections_;
    std::unique_ptr<const Limits> limits_;
    detail::RequestHeadParser parser_;
    std::unique_ptr<RequestHead> head_ = std::make_unique<RequestHead>();
};

}  // namespace weft::http::test
