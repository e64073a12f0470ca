// What to do about a connect that failed.
#pragma once

#include <string_view>

#include <weft/scheduler/errors.hpp>

namespace weft {

// A constant text, to stand behind the address in an error: "is the server running, and the port right?".
std::string_view connectAdvice(const ErrorCode& error) noexcept;

}  // namespace weft
