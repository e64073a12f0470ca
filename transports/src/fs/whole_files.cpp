#include <weft/transports/fs/whole_files.hpp>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <weft/transports/fd.hpp>

#include "file_calls.hpp"
#include "on_pool.hpp"

namespace weft::fs {

using weft::detail::closeFile;
using weft::detail::onPool;
using weft::detail::openFile;
using weft::detail::uninterruptedCall;
using weft::detail::writeAllTo;

namespace {

void throwIfFailed(const ErrorCode& error, const char* call, const std::string& path) {
    if (error) weft::detail::throwFileError(error, call, path);
}

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

// Rights belong to users: those of an owner or a group do not pass to another one. A file with an access list shows the
// list's mask in the place of its group's permissions. A new group had, at most, the rights of all others.
mode_t permissionsFor(const struct ::stat& created, const struct ::stat& former, bool hasAccessList) noexcept {
    mode_t kept = former.st_mode & 07777;
    if (created.st_uid != former.st_uid) kept &= ~mode_t{S_ISUID};
    if (created.st_gid != former.st_gid) kept &= ~mode_t{S_ISGID};
    if (created.st_gid != former.st_gid || hasAccessList) kept &= ~mode_t{S_IRWXG} | (kept & S_IRWXO) << 3;
    return kept;
}

// The steps of one replaceFile(): a new file in the directory of the former one, which takes its name once it is
// complete. The new file has no name while it is written where the file system allows that (O_TMPFILE), so that a
// process that dies leaves nothing; elsewhere it has one that no other call uses. Names are relative to the open
// directory and do not depend on the length of the path. Use once.
class Replacement {
  public:
    explicit Replacement(const std::string& path) : path_(path), name_(path) {
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) return;
        directoryName_ = path.substr(0, slash + 1);
        name_ = path.substr(slash + 1);
    }
    // Removes what has not replaced the former file.
    ~Replacement() {
        if (!temporary_.empty()) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
    }
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;

    // `permissions`: of a file that did not exist, without the bits of the process's umask. The permissions of one that
    // did are kept. Throws std::bad_alloc.
    ErrorCode write(std::string_view bytes, mode_t permissions) {
        ErrorCode error = openDirectory();
        if (error) return error;
        readFormer();
        error = create(permissions, true);
        if (error) error = create(permissions, false);
        if (!error) error = fill(bytes);
        if (!error && temporary_.empty() && link()) {  // without /proc a file without a name cannot get one
            error = create(permissions, false);
            if (!error) error = fill(bytes);
        }
        if (!error) error = close();
        if (!error) error = rename();
        return error ? error : syncDirectory();
    }

  private:
    // A directory that cannot be read can be used nevertheless.
    ErrorCode openDirectory() noexcept {
        if (path_.find('\0') != std::string::npos) return fromErrno(EINVAL);
        ErrorCode error;
        directory_ = Fd(openFile(directoryName_, O_RDONLY | O_DIRECTORY, 0, error));
        readable_ = error != fromErrno(EACCES);
        if (!readable_) directory_ = Fd(openFile(directoryName_, O_PATH | O_DIRECTORY, 0, error));
        return error;
    }

    // There may be none. rename() reports other errors.
    void readFormer() noexcept {
        struct ::stat former {};
        if (::fstatat(directory_.get(), name_.c_str(), &former, 0) != 0) return;
        former_ = former;
        hasAccessList_ = ::getxattr(path_.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
    }

    // The file never has more permissions than the former one, and its group, which may be new, has none yet: a process
    // that opens it before setPermissions() could read it afterwards.
    ErrorCode create(mode_t permissions, bool unnamed) {
        if (former_) permissions &= former_->st_mode & (S_IRWXU | S_IRWXO);
        file_.close();
        const auto open = [&](const char* name, int flags) {
            file_ = Fd(::openat(directory_.get(), name, flags | O_WRONLY | O_CLOEXEC, permissions));
            return file_.get();
        };
        if (unnamed) return errorOf([&] { return open(".", O_TMPFILE); });
        return withFreshName(temporary_, [&](const char* name) { return open(name, O_CREAT | O_EXCL); });
    }

    // Sets the permissions last, because a write removes some.
    ErrorCode fill(std::string_view bytes) noexcept {
        ErrorCode error = writeAllTo(file_.get(), bytes).error;
        if (!error && former_) error = setPermissions();
        return error ? error : errorOf([&] { return ::fsync(file_.get()); });
    }

    ErrorCode setPermissions() noexcept {
        struct ::stat created {};
        if (::fstat(file_.get(), &created) != 0) return fromErrno(lastErrno());
        const mode_t kept = permissionsFor(created, *former_, hasAccessList_);
        return errorOf([&] { return ::fchmod(file_.get(), kept); });
    }

    ErrorCode link() {
        const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
        return withFreshName(temporary_, [&](const char* name) {
            return ::linkat(AT_FDCWD, self.c_str(), directory_.get(), name, AT_SYMLINK_FOLLOW);
        });
    }

    // A file system over a network may report here that it could not write.
    ErrorCode close() noexcept {
        if (!readable_) {
            spare_ = Fd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
            if (!spare_) return fromErrno(lastErrno());
        }
        return closeFile(file_.release());
    }

    ErrorCode rename() noexcept {
        const auto renamed = [&] {
            return ::renameat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str());
        };
        if (const ErrorCode error = errorOf(renamed)) return error;
        temporary_.clear();
        return {};
    }

    // The rename is durable once the directory is: by itself, or with all of its file system if it cannot be opened.
    ErrorCode syncDirectory() noexcept {
        return errorOf([&] { return readable_ ? ::fsync(directory_.get()) : ::syncfs(spare_.get()); });
    }

    const std::string& path_;
    std::string directoryName_ = ".";
    std::string name_;
    std::string temporary_;  // the new file's name; empty: it has none
    Fd directory_;
    Fd file_;
    Fd spare_;  // a duplicate of file_, when the directory cannot be read
    bool readable_ = true;
    std::optional<struct ::stat> former_;
    bool hasAccessList_ = false;
};

}  // namespace

std::string readFile(const std::string& path, std::size_t limit, ErrorCode& error) {
    std::string bytes;
    onPool(error, [&](ErrorCode& failed) {
        const Fd fd(openFile(path, O_RDONLY, 0, failed));  // only read, so that the result of its close does not matter
        if (!failed) bytes = weft::detail::readToEnd(fd.get(), limit, failed);
    });
    return bytes;
}
std::string readFile(const std::string& path, std::size_t limit) {
    ErrorCode error;
    std::string bytes = readFile(path, limit, error);
    throwIfFailed(error, "readFile", path);
    return bytes;
}

void writeFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error) {
    onPool(error, [&](ErrorCode& failed) {
        const int fd = openFile(path, O_WRONLY | O_CREAT | O_TRUNC, permissions, failed);
        if (failed) return;
        failed = writeAllTo(fd, bytes).error;
        const ErrorCode closed = closeFile(fd);
        if (!failed) failed = closed;
    });
}
void writeFile(const std::string& path, std::string_view bytes, mode_t permissions) {
    ErrorCode error;
    writeFile(path, bytes, permissions, error);
    throwIfFailed(error, "writeFile", path);
}
void writeFile(const std::string& path, std::string_view bytes, ErrorCode& error) {
    writeFile(path, bytes, 0666, error);
}

void replaceFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error) {
    onPool(error, [&](ErrorCode& failed) { failed = Replacement(path).write(bytes, permissions); });
}
void replaceFile(const std::string& path, std::string_view bytes, mode_t permissions) {
    ErrorCode error;
    replaceFile(path, bytes, permissions, error);
    throwIfFailed(error, "replaceFile", path);
}
void replaceFile(const std::string& path, std::string_view bytes, ErrorCode& error) {
    replaceFile(path, bytes, 0666, error);
}

}  // namespace weft::fs
