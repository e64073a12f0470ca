// Advice for the message of a failed connect.
#pragma once

#include <string_view>

#include <weft/scheduler/errors.hpp>

namespace weft {

// A constant text to append to the address in an error message: "is the server running, and the port right?".
std::string_view connectAdvice(const ErrorCode& error) noexcept;

}  // namespace weft
