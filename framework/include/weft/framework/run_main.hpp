// runMain(): the body of main(), whose failures are one line each.
#pragma once

#include <memory>
#include <type_traits>

namespace weft {

namespace detail {
int runMain(int argc, const char* const* argv, int (*call)(const void*), const void* body) noexcept;
}  // namespace detail

// Calls body() and returns what main() returns: body()'s result, or 0 if it has none. What it throws is one line on
// stderr, with the name of the program in front (the end of argv[0]), and the status 2 for a ConfigurationError, as for
// a wrong option, file or variable, else 1. It reads nothing else of the arguments. Context: main(). Never throws.
template <class Body>
int runMain(int argc, const char* const* argv, Body&& body) noexcept {
    using Called = std::remove_reference_t<Body>;
    Called* const called = std::addressof(body);
    const auto call = [](const void* given) -> int {
        Called& function = **static_cast<Called* const*>(given);
        if constexpr (std::is_void_v<std::invoke_result_t<Called&>>) {
            function();
            return 0;
        } else {
            return function();
        }
    };
    return detail::runMain(argc, argv, call, &called);
}

}  // namespace weft
