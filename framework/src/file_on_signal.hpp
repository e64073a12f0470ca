// FileOnSignal: writes a file at each signal, on a thread of its own. Private to the framework.
#pragma once

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <locale>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "output_file.hpp"
#include "signal_thread.hpp"

namespace weft::detail {

struct FileOnSignalOptions {
    std::string owner;  // the class, for error messages
    std::string what;   // what it writes: "trace"
    std::string path;
    int signal;
    std::function<void(std::ostream&)> write;
};

// Errors, logging and files: see TraceOnSignal. In a forked process the owner keeps the object.
class FileOnSignal : public KeptInFork {
  public:
    // Throws as SignalThread.
    explicit FileOnSignal(FileOnSignalOptions options)
        : options_(std::move(options)), thread_(options_.signal, options_.owner, [this] { writeOnce(); }) {}

    bool forked() const noexcept { return thread_.forked(); }

  private:
    // The file before it has its name; removed after a failure or an exception.
    struct Part {
        ~Part() {
            if (!path.empty()) ::unlink(path.c_str());
        }
        std::string path;
    };

    void writeOnce() noexcept {
        try {
            const std::string failure = writeFile();
            if (!failure.empty()) return logFailure(failure);
            log(LogLevel::info, {options_.what, " written to ", options_.path});
        } catch (const std::exception& error) {
            logFailure(error.what());
        }
    }
    void logFailure(std::string_view failure) const noexcept {
        log(LogLevel::error, {"the ", options_.what, " cannot be written to ", options_.path, ": ", failure});
    }
    // Returns the error message, or an empty text on success. Replaces a regular file; writes directly to a pipe or a
    // device, and through a symbolic link. Once the object ends, a pipe that is full holds it up for a second at most.
    std::string writeFile() const {
        const std::string& path = options_.path;
        const std::filesystem::file_status status = std::filesystem::symlink_status(path);
        const bool replaces = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
        if (!replaces) return writeTo(path, OutputFile::Mode::existing);
        Part part{path + ".part"};
        std::string failure = writeTo(part.path, OutputFile::Mode::anew);
        if (!failure.empty()) return failure;
        if (std::rename(part.path.c_str(), path.c_str()) != 0) return fromErrno(errno).message();
        part.path.clear();
        return {};
    }
    std::string writeTo(const std::string& path, OutputFile::Mode mode) const {
        OutputFile file(path, thread_.ends(), mode);
        std::ostream stream(&file);
        stream.imbue(std::locale::classic());
        if (file.error() == 0) options_.write(stream);
        stream.flush();
        if (file.error() == ETIMEDOUT) return "its reader has read nothing for a second";
        if (file.error() != 0) return fromErrno(file.error()).message();
        if (!stream) return "the stream failed";
        return {};
    }

    const FileOnSignalOptions options_;
    SignalThread thread_;  // last: it ends first
};

}  // namespace weft::detail
