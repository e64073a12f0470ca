// The only file that includes spdlog.
#include <weft/framework/logging.hpp>

#include <exception>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
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

std::shared_ptr<spdlog::logger> makeLogger() {
    auto logger = std::make_shared<spdlog::logger>("weft", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %n: %v");
    logger->flush_on(spdlog::level::warn);
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
