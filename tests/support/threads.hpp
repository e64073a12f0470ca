// The threads of the process by their names.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::test {

// True if a thread with this name waits in a system call.
inline bool threadSleeps(const std::string& name) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string text;
        std::getline(std::ifstream(task.path() / "stat"), text);  // none: it has ended
        if (text.find("(" + name + ") S") != std::string::npos) return true;
    }
    return false;
}

}  // namespace weft::test
