// LogCapture: collects what the scheduler logs during its lifetime instead of printing it. Only one may exist at a
// time.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/scheduler/log.hpp>

namespace weft::test {

class LogCapture {
  public:
    LogCapture() {
        {
            std::lock_guard held(lock_);
            lines_.clear();
        }
        setLogSink([](LogLevel level, std::string_view line) noexcept {
            std::lock_guard held(lock_);
            lines_.push_back({level, std::string(line)});
        });
    }
    ~LogCapture() { setLogSink(nullptr); }
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;

    // The number of lines that contain all of these parts.
    template <class... Parts>
    int count(const Parts&... parts) const {
        std::lock_guard held(lock_);
        int found = 0;
        for (const Line& line : lines_) found += (... && (line.text.find(parts) != std::string::npos));
        return found;
    }
    // The same for one level.
    template <class... Parts>
    int countAt(LogLevel level, const Parts&... parts) const {
        std::lock_guard held(lock_);
        int found = 0;
        for (const Line& line : lines_) {
            found += line.level == level && (... && (line.text.find(parts) != std::string::npos));
        }
        return found;
    }
    // Waits until there is one. Returns false after a time that passes only if the line is missing.
    template <class... Parts>
    bool await(const Parts&... parts) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (count(parts...) == 0) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::yield();
        }
        return true;
    }
    std::string text() const {
        std::lock_guard held(lock_);
        std::string all;
        for (const Line& line : lines_) all += line.text + "\n";
        return all;
    }

  private:
    struct Line {
        LogLevel level;
        std::string text;
    };
    static inline std::mutex lock_;
    static inline std::vector<Line> lines_;
};

}  // namespace weft::test
