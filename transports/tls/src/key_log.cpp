#include "key_log.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

namespace {

// What another user may have made is no place for secrets: a link, a pipe, a file that others may read.
const char* faultOf(int file) noexcept {
    struct stat facts {};
    if (::fstat(file, &facts) != 0) return "cannot be examined";
    if (!S_ISREG(facts.st_mode)) return "is no regular file";
    if (facts.st_uid != ::geteuid()) return "belongs to another user";
    if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "may be used by others: chmod 600";
    return nullptr;
}

}  // namespace

KeyLog::KeyLog(const std::string& file, const std::string& option)
    : file_(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) {
    if (file_.get() < 0) {
        throw ConfigurationError(option + " '" + file +
                                 "': cannot be opened: " + std::generic_category().message(errno));
    }
    if (const char* const fault = faultOf(file_.get())) throw ConfigurationError(option + " '" + file + "': " + fault);
}

// One call for each line, so that those of other processes do not come between.
void KeyLog::write(std::string_view line) noexcept {
    char end = '\n';
    const iovec parts[] = {{const_cast<char*>(line.data()), line.size()}, {&end, 1}};
    const std::lock_guard held(lock_);
    [[maybe_unused]] const auto written = ::writev(file_.get(), parts, 2);
}

}  // namespace weft::detail
