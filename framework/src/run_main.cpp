#include <weft/framework/run_main.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

namespace {

constexpr int failed = 1;
constexpr int wronglyConfigured = 2;

std::string_view nameOf(int argc, const char* const* argv) noexcept {
    if (argc < 1 || argv[0] == nullptr || *argv[0] == '\0') return "weft";
    const std::string_view path = argv[0];
    return path.substr(path.rfind('/') + 1);
}

int complain(std::string_view program, std::string_view what, int status) noexcept {
    try {
        std::string line(what);
        std::replace(line.begin(), line.end(), '\n', ' ');
        std::cerr << program << ": " << line << std::endl;
    } catch (const std::exception&) {  // no memory, or a stream that throws: the status says enough
    }
    return status;
}

}  // namespace

int runMain(int argc, const char* const* argv, int (*call)(const void*), const void* body) noexcept {
    const std::string_view program = nameOf(argc, argv);
    try {
        return call(body);
    } catch (const ConfigurationError& error) {
        return complain(program, error.what(), wronglyConfigured);
    } catch (const std::exception& error) {
        return complain(program, error.what(), failed);
    } catch (...) {
        return complain(program, "an exception that is not a std::exception", failed);
    }
}

}  // namespace weft::detail
