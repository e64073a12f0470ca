#include "replacement.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "file_calls.hpp"

namespace weft::detail {

namespace {

constexpr int mostTries = 64;  // of names that other files have

// Random, because processes of several containers may share the directory and their numbers.
std::string freshName() {
    std::uint64_t number = 0;
    static_cast<void>(::getrandom(&number, sizeof number, 0));
    char name[32];
    std::snprintf(name, sizeof name, ".weft-%016" PRIx64 ".tmp", number);
    return name;
}

// Calls `make(name)` with fresh names until one is free; `name` is then that one.
template <class Make>
ErrorCode withFreshName(std::string& name, Make make) {
    ErrorCode error = fromErrno(EEXIST);
    for (int tries = 0; error == fromErrno(EEXIST) && tries < mostTries; ++tries) {
        std::string fresh = freshName();
        static_cast<void>(uninterruptedCall([&] { return make(fresh.c_str()); }, error));
        if (!error) name = std::move(fresh);
    }
    return error;
}

template <class Call>
ErrorCode errorOf(Call call) noexcept {
    ErrorCode error;
    static_cast<void>(uninterruptedCall(call, error));
    return error;
}

void closeIfOpen(int fd) noexcept {
    if (fd >= 0) static_cast<void>(closeFile(fd));
}

// Rights belong to users: those of an owner or a group do not pass to another one. A file with an access list shows the
// list's mask in the place of its group's permissions. A new group had, at most, the rights of all others.
mode_t permissionsFor(const struct ::stat& created, const struct ::stat& former, bool hasAccessList) noexcept {
    mode_t kept = former.st_mode & 07777;
    if (created.st_uid != former.st_uid) kept &= ~mode_t{S_ISUID};
    if (created.st_gid != former.st_gid) kept &= ~mode_t{S_ISGID};
    if (created.st_gid != former.st_gid || hasAccessList) kept &= ~mode_t{S_IRWXG} | (kept & S_IRWXO) << 3;
    return kept;
}

}  // namespace

Replacement::Replacement(const std::string& path) : path_(path), name_(path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    directoryName_ = path.substr(0, slash + 1);
    name_ = path.substr(slash + 1);
}

Replacement::~Replacement() {
    if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
    closeIfOpen(file_);
    closeIfOpen(spare_);
    closeIfOpen(directory_);
}

ErrorCode Replacement::write(std::string_view bytes, mode_t permissions) {
    ErrorCode error = begin(permissions);
    if (!error) error = append(bytes);
    if (!error) error = complete();
    if (!error && temporary_.empty() && link()) {  // some file systems refuse it
        error = create(permissions, false);
        if (!error) error = append(bytes);
        if (!error) error = complete();
    }
    return error ? error : publish();
}

ErrorCode Replacement::begin(mode_t permissions) {
    ErrorCode error = openDirectory();
    if (error) return error;
    readFormer();
    error = create(permissions, true);
    return error || !canBeLinked() ? create(permissions, false) : error;
}

ErrorCode Replacement::append(std::string_view bytes) noexcept {
    return writeAllTo(file_, bytes).error;
}

ErrorCode Replacement::commit() {
    readFormer();  // it may have changed since begin()
    ErrorCode error = complete();
    if (!error && temporary_.empty()) error = link();
    return error ? error : publish();
}

// A directory that cannot be read can be used nevertheless.
ErrorCode Replacement::openDirectory() noexcept {
    if (path_.find('\0') != std::string::npos) return fromErrno(EINVAL);
    ErrorCode error;
    directory_ = openFile(directoryName_, O_RDONLY | O_DIRECTORY, 0, error);
    readable_ = error != fromErrno(EACCES);
    if (!readable_) directory_ = openFile(directoryName_, O_PATH | O_DIRECTORY, 0, error);
    return error;
}

// There may be none. rename() reports other errors.
void Replacement::readFormer() noexcept {
    if (::fstatat(directory_, name_.c_str(), &former_.emplace(), 0) != 0) return former_.reset();
    hasAccessList_ = ::getxattr(path_.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

// The file never has more permissions than the former one, and its group, which may be new, has none yet: a process
// that opens it before setPermissions() could read it afterwards.
ErrorCode Replacement::create(mode_t permissions, bool unnamed) {
    if (former_) permissions &= former_->st_mode & (S_IRWXU | S_IRWXO);
    closeIfOpen(std::exchange(file_, -1));
    const auto open = [&](const char* name, int flags) {
        return file_ = ::openat(directory_, name, flags | O_WRONLY | O_CLOEXEC, permissions);
    };
    if (unnamed) return errorOf([&] { return open(".", O_TMPFILE); });
    return withFreshName(temporary_, [&](const char* name) { return open(name, O_CREAT | O_EXCL); });
}

// Sets the permissions last, because a write removes some.
ErrorCode Replacement::complete() noexcept {
    ErrorCode error;
    if (former_) error = setPermissions();
    return error ? error : errorOf([&] { return ::fsync(file_); });
}

ErrorCode Replacement::setPermissions() noexcept {
    struct ::stat created {};
    if (::fstat(file_, &created) != 0) return fromErrno(lastErrno());
    const mode_t kept = permissionsFor(created, *former_, hasAccessList_);
    return errorOf([&] { return ::fchmod(file_, kept); });
}

// The name of a file that has none.
std::string Replacement::self() const {
    return "/proc/self/fd/" + std::to_string(file_);
}

// Without /proc a file without a name cannot get one.
bool Replacement::canBeLinked() const {
    return ::access(self().c_str(), F_OK) == 0;
}

ErrorCode Replacement::link() {
    return withFreshName(temporary_, [from = self(), this](const char* name) {
        return ::linkat(AT_FDCWD, from.c_str(), directory_, name, AT_SYMLINK_FOLLOW);
    });
}

// The new file takes the name of the former one.
ErrorCode Replacement::publish() noexcept {
    ErrorCode error = close();
    if (!error) error = rename();
    return error ? error : syncDirectory();
}

// A file system over a network may report here that it could not write.
ErrorCode Replacement::close() noexcept {
    if (!readable_) {
        spare_ = ::fcntl(file_, F_DUPFD_CLOEXEC, 0);
        if (spare_ < 0) return fromErrno(lastErrno());
    }
    return closeFile(std::exchange(file_, -1));
}

ErrorCode Replacement::rename() noexcept {
    const auto renamed = [&] { return ::renameat(directory_, temporary_.c_str(), directory_, name_.c_str()); };
    if (const ErrorCode error = errorOf(renamed)) return error;
    temporary_.clear();
    return {};
}

// The rename is durable once the directory is: by itself, or with all of its file system if it cannot be opened.
ErrorCode Replacement::syncDirectory() noexcept {
    return errorOf([&] { return readable_ ? ::fsync(directory_) : ::syncfs(spare_); });
}

}  // namespace weft::detail
