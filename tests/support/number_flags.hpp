// readFlags(): numeric command-line flags of a long-running test program, in addition to GoogleTest's own.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

namespace weft::test {

struct NumberFlag {
    const char* name;  // "--seed"
    double* value;     // unchanged when the flag is not given
};

inline double numberOfFlag(const char* program, const char* flag, const char* text) {
    char* end = nullptr;
    const double number = text != nullptr ? std::strtod(text, &end) : 0;
    if (text == nullptr || *end != '\0' || end == text || !(number > 0) || number > 1e15) {
        std::fprintf(stderr, "%s: %s is '%s'; accepted: a number above 0, up to 1e15\n", program, flag,
                     text != nullptr ? text : "");
        std::exit(2);
    }
    return number;
}

[[noreturn]] inline void refuseArgument(const char* program, const char* argument,
                                        std::initializer_list<NumberFlag> flags) {
    std::string accepted;
    for (const NumberFlag& flag : flags) accepted += std::string(flag.name) + " N, ";
    std::fprintf(stderr, "%s: unknown argument '%s'; accepted: %sand GoogleTest's flags\n", program, argument,
                 accepted.c_str());
    std::exit(2);
}

// Call after InitGoogleTest(), which removes its own flags. Any other argument ends the process with status 2.
inline void readFlags(int argc, char** argv, std::initializer_list<NumberFlag> flags) {
    for (int i = 1; i < argc; i += 2) {
        const NumberFlag* found = nullptr;
        for (const NumberFlag& flag : flags) found = std::strcmp(argv[i], flag.name) == 0 ? &flag : found;
        if (found == nullptr) refuseArgument(argv[0], argv[i], flags);
        *found->value = numberOfFlag(argv[0], argv[i], i + 1 < argc ? argv[i + 1] : nullptr);
    }
}

}  // namespace weft::test
