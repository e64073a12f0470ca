#include "key_log.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/uio.h>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

KeyLog::KeyLog(const std::string& file, const std::string& option)
    : file_(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_.get() >= 0) return;
    throw ConfigurationError(option + " '" + file + "': cannot be opened: " + std::generic_category().message(errno));
}

// One call for each line, so that those of other processes do not come between.
void KeyLog::write(std::string_view line) noexcept {
    char end = '\n';
    const iovec parts[] = {{const_cast<char*>(line.data()), line.size()}, {&end, 1}};
    const std::lock_guard held(lock_);
    [[maybe_unused]] const auto written = ::writev(file_.get(), parts, 2);
}

}  // namespace weft::detail
