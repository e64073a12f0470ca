// Command-line flags of the benchmark programs: `--name value` and bare `--name`.
// Owned by main(). A wrong flag is one clear line on stderr and exit status 2; there is no other outcome to handle.
// Usage: read every flag the program knows, then call finish(), which refuses whatever is left over.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace weft::perf {

class Flags {
  public:
    Flags(int argc, char** argv, std::string_view usage) : program_(argv[0]) {
        for (int i = 1; i < argc; ++i) args_.push_back({argv[i], false});
        if (present("--help")) {
            std::printf("usage: %s %.*s\n", program_.c_str(), static_cast<int>(usage.size()), usage.data());
            std::exit(0);
        }
    }

    bool present(std::string_view name) {
        for (Arg& arg : args_) {
            if (arg.used || arg.text != name) continue;
            arg.used = true;
            return true;
        }
        return false;
    }

    std::string text(std::string_view name, std::string_view fallback) {
        for (std::size_t i = 0; i < args_.size(); ++i) {
            if (args_[i].used || args_[i].text != name) continue;
            if (i + 1 == args_.size() || args_[i + 1].text.starts_with("--"))
                fail(std::string(name) + " needs a value");
            args_[i].used = args_[i + 1].used = true;
            return args_[i + 1].text;
        }
        return std::string(fallback);
    }

    std::string requiredText(std::string_view name) {
        std::string value = text(name, "");
        if (value.empty()) fail(std::string(name) + " is required");
        return value;
    }

    long number(std::string_view name, long fallback, long least, long most) {
        const std::string value = text(name, "");
        if (value.empty()) return fallback;
        long result = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
        if (error != std::errc{} || end != value.data() + value.size() || result < least || result > most)
            fail(std::string(name) + " " + value + ": expected a number from " + std::to_string(least) + " to " +
                 std::to_string(most));
        return result;
    }

    void finish() const {
        for (const Arg& arg : args_)
            if (!arg.used) fail("unexpected argument '" + arg.text + "' (see --help)");
    }

    [[noreturn]] void fail(const std::string& why) const {
        std::fprintf(stderr, "%s: %s\n", program_.c_str(), why.c_str());
        std::exit(2);
    }

  private:
    struct Arg {
        std::string text;
        bool used;
    };

    std::string program_;
    std::vector<Arg> args_;
};

}  // namespace weft::perf
