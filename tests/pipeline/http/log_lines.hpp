// LogLines: collects the warnings and errors logged during its lifetime.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <weft/scheduler/log.hpp>

namespace weft::http::test {

class LogLines {
  public:
    LogLines() {
        lines().clear();
        setLogSink([](LogLevel level, std::string_view line) noexcept {
            const std::lock_guard held(lock());
            if (level >= LogLevel::warning) lines().emplace_back(line);
        });
    }
    ~LogLines() { setLogSink(nullptr); }
    LogLines(const LogLines&) = delete;
    LogLines& operator=(const LogLines&) = delete;

    std::size_t size() const { return lines().size(); }
    std::size_t containing(std::string_view text) const {
        const std::lock_guard held(lock());
        std::size_t found = 0;
        for (const std::string& line : lines()) found += line.find(text) != std::string::npos;
        return found;
    }
    std::string all() const {
        std::string text;
        for (const std::string& line : lines()) text += line + "\n";
        return text;
    }

  private:
    static std::mutex& lock() {
        static std::mutex mutex;
        return mutex;
    }
    static std::vector<std::string>& lines() {
        static std::vector<std::string> all;
        return all;
    }
};

}  // namespace weft::http::test
