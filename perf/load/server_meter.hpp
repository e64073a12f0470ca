// CPU time and context switches of all threads of the measured server so far. The client reads them at both ends of its
// window, so the server is charged for exactly the requests that are counted.
// CPU time is the process CPU clock (nanoseconds, ended threads and io_uring workers included); /proc/PID/stat gives
// the same sum in 10 ms ticks and is kept for its user/system split.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "clock.hpp"

namespace weft::perf {

struct ServerUsage {
    double cpuSeconds = 0;
    double userSeconds = 0;
    double systemSeconds = 0;
    long voluntarySwitches = 0;
    long involuntarySwitches = 0;
    int threads = 0;

    ServerUsage operator-(const ServerUsage& before) const {
        return {cpuSeconds - before.cpuSeconds,
                userSeconds - before.userSeconds,
                systemSeconds - before.systemSeconds,
                voluntarySwitches - before.voluntarySwitches,
                involuntarySwitches - before.involuntarySwitches,
                threads};
    }
};

class ServerMeter {
  public:
    explicit ServerMeter(std::vector<pid_t> pids) : pids_(std::move(pids)) {}

    bool empty() const { return pids_.empty(); }

    ServerUsage read() const {
        ServerUsage usage;
        for (const pid_t pid : pids_) {
            addCpu(pid, usage);
            addSwitches(pid, usage);
        }
        return usage;
    }

  private:
    static void addCpu(pid_t pid, ServerUsage& usage) {
        clockid_t clock;
        if (clock_getcpuclockid(pid, &clock) == 0) usage.cpuSeconds += static_cast<double>(readClock(clock)) * 1e-9;
        const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
        const std::size_t name = stat.rfind(')');  // the name may contain blanks
        unsigned long user = 0;
        unsigned long system = 0;
        if (name == std::string::npos) return;
        constexpr const char* fields = " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu";  // from field 3 on
        if (std::sscanf(stat.c_str() + name + 1, fields, &user, &system) != 2) return;
        static const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
        usage.userSeconds += static_cast<double>(user) * tick;
        usage.systemSeconds += static_cast<double>(system) * tick;
    }

    static void addSwitches(pid_t pid, ServerUsage& usage) {
        const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
        DIR* const directory = opendir(tasks.c_str());
        if (!directory) return;
        while (const dirent* entry = readdir(directory)) {
            if (entry->d_name[0] == '.') continue;
            const std::string status = slurp(tasks + "/" + entry->d_name + "/status");
            usage.voluntarySwitches += field(status, "\nvoluntary_ctxt_switches:");
            usage.involuntarySwitches += field(status, "\nnonvoluntary_ctxt_switches:");
            ++usage.threads;
        }
        closedir(directory);
    }

    static long field(const std::string& text, const char* name) {
        const std::size_t at = text.find(name);
        return at == std::string::npos ? 0 : std::atol(text.c_str() + at + std::strlen(name));
    }

    static std::string slurp(const std::string& path) {
        char text[8192];
        std::FILE* const file = std::fopen(path.c_str(), "r");
        if (!file) return {};
        const std::size_t size = std::fread(text, 1, sizeof text, file);
        std::fclose(file);
        return {text, size};
    }

    std::vector<pid_t> pids_;
};

}  // namespace weft::perf
