// Which threads of the process sleep.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <sys/types.h>

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

inline bool threadSleeps(pid_t thread) {
    std::string text;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), text);
    const auto name = text.rfind(')');
    return name != std::string::npos && text.substr(name).starts_with(") S");
}

}  // namespace weft::test
