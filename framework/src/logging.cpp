// The only file that includes spdlog.
#include <weft/framework/logging.hpp>

#include <weft/scheduler/detail/log_output.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

namespace weft {

namespace {

spdlog::level::level_enum toSpdlog(LogLevel level) noexcept {
    switch (level) {
        case LogLevel::debug: return spdlog::level::debug;
        case LogLevel::info: return spdlog::level::info;
        case LogLevel::warning: return spdlog::level::warn;
        case LogLevel::error: break;
    }
    return spdlog::level::err;
}

std::string_view colourOf(spdlog::level::level_enum level) noexcept {
    switch (level) {
        case spdlog::level::debug: return "\033[36m";
        case spdlog::level::info: return "\033[32m";
        case spdlog::level::warn: return "\033[33m\033[1m";
        default: return "\033[31m\033[1m";
    }
}

// spdlog's own sink waits for the reader of stderr.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t formatted;
        message.color_range_start = 0;
        message.color_range_end = 0;
        formatter_->format(message, formatted);
        std::string line(formatted.data(), formatted.size());
        if (coloured_ && message.color_range_end > message.color_range_start) {
            line.insert(message.color_range_end, "\033[m");
            line.insert(message.color_range_start, colourOf(message.level));
        }
        detail::LogOutput::ofStderr().write(line);
    }
    void flush_() override {}

  private:
    const bool coloured_ = spdlog::details::os::in_terminal(stderr) && spdlog::details::os::is_color_terminal();
};

std::shared_ptr<spdlog::logger> makeLogger() {
    auto logger = std::make_shared<spdlog::logger>("weft", std::make_shared<StderrSink>());
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %n: %v");
    return logger;
}

// Never destroyed: carriers of static groups may log until the very end.
spdlog::logger& logger() {
    static auto* const instance = new std::shared_ptr<spdlog::logger>(makeLogger());
    return **instance;
}

void toSpdlogSink(LogLevel level, std::string_view message) noexcept {
    try {
        logger().log(toSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
    } catch (const std::exception&) {  // no memory for a log line: the line is lost, not the program
    }
}

}  // namespace

void initializeLogging(LogLevel level) {
    logger().set_level(toSpdlog(level));
    setLogSink(&toSpdlogSink);
}

}  // namespace weft
