// AnswerReader: reads answers from the bytes of a connection, strictly by RFC 9112 and without any code of Weft.
// Ambiguous bytes, and a framing that the status and the request do not allow, are faults.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::test {

struct HttpAnswer {
    unsigned status = 0;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    unsigned interims = 0;    // 1xx answers before it
    bool untilClose = false;  // only the end of the connection ends its body

    // The value of the only header with this name; "" when there is none.
    std::string header(std::string_view name) const;
};

class AnswerReader {
  public:
    enum class Result : unsigned char { more, whole, fault };

    // Removes the next answer, to a request with `method`, from the front of `input`. `ended`: no more bytes will
    // arrive. `more` leaves the input unchanged; with `ended` the answer is truncated, and partial() holds its received
    // part.
    Result take(std::string& input, std::string_view method, bool ended);

    HttpAnswer& answer() noexcept { return answer_; }
    const std::string& fault() const noexcept { return fault_; }

  private:
    Result head(std::string_view input, std::size_t& used);
    Result statusLine(std::string_view line);
    Result headerLine(std::string_view line);
    Result body(std::string_view input, std::size_t& used, std::string_view method, bool ended);
    Result chunks(std::string_view input, std::size_t& used);
    Result sized(std::string_view input, std::size_t& used, std::size_t size);
    Result bodiless();
    Result bad(std::string what);

    HttpAnswer answer_;
    std::string fault_;
};

}  // namespace weft::test
