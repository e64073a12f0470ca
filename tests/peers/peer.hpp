// Peers: servers and clients of other projects, as programs of this machine that tests start (scripts/setup --peers).
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "examples/program.hpp"

namespace weft::test {

// Its absolute path; "" where it is not installed.
inline std::string peerPath(const std::string& name) {
    for (const char* directory : {"/usr/bin", "/usr/sbin", "/usr/local/bin"}) {
        const std::filesystem::path path = std::filesystem::path(directory) / name;
        if (std::filesystem::exists(path)) return path;
    }
    return {};
}

// A peer that ends by itself: what it prints, and its errors when it fails.
inline std::string outputOf(const std::string& peer, std::vector<std::string> flags) {
    Program program(peerPath(peer), std::move(flags));
    EXPECT_EQ(program.exitStatus(), 0) << program.errors();
    return program.output();
}

#define NEEDS_PEER(name) \
    if (peerPath(name).empty()) GTEST_SKIP() << name << " is not installed: run scripts/setup --peers"

}  // namespace weft::test
