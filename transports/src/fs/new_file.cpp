#include <weft/transports/fs/new_file.hpp>

#include <cerrno>
#include <utility>

#include "on_pool.hpp"
#include "replacement.hpp"

namespace weft::fs {

using weft::detail::onPool;
using weft::detail::Replacement;

namespace {

void throwIf(const ErrorCode& error, const char* call, const std::string& path) {
    if (error) weft::detail::throwFileError(error, call, path);
}

}  // namespace

NewFile::NewFile(std::string path, mode_t permissions) : path_(std::move(path)) {
    ErrorCode error;
    begin(permissions, error);
    throwIf(error, "fs::NewFile", path_);
}

NewFile::NewFile(Closed, std::string path) noexcept : path_(std::move(path)) {}

NewFile NewFile::open(std::string path, mode_t permissions, ErrorCode& error) {
    NewFile file(Closed{}, std::move(path));
    file.begin(permissions, error);
    return file;
}

NewFile::NewFile(NewFile&&) noexcept = default;

NewFile& NewFile::operator=(NewFile&& other) noexcept {
    if (this != &other) {
        discard();
        path_ = std::move(other.path_);
        replacement_ = std::move(other.replacement_);
        failure_ = other.failure_;
    }
    return *this;
}

NewFile::~NewFile() {
    discard();
}

void NewFile::begin(mode_t permissions, ErrorCode& error) {
    auto made = std::make_unique<Replacement>(path_);
    onPool(error, [&](ErrorCode& failed) { failed = made->begin(permissions); });
    replacement_ = std::move(made);
    if (error) discard();
}

// Does not wait. A pool that takes no more calls leaves it to this thread.
void NewFile::discard() noexcept {
    if (!replacement_) return;
    if (Carrier* const here = Carrier::current()) {
        try {
            here->group().blockingPool().post([its = std::move(replacement_)]() mutable { its.reset(); });
        } catch (const std::exception&) {  // SystemError or bad_alloc: the function has been destroyed
        }
    }
    replacement_.reset();
}

void NewFile::write(std::string_view bytes, ErrorCode& error) {
    error = replacement_ ? failure_ : fromErrno(EBADF);
    if (error) return;
    failure_ = fromErrno(EIO);  // when onPool() throws
    onPool(error, [&](ErrorCode& failed) { failed = replacement_->append(bytes); });
    failure_ = error;
}
void NewFile::write(std::string_view bytes) {
    ErrorCode error;
    write(bytes, error);
    throwIf(error, "fs::NewFile::write", path_);
}

void NewFile::commit(ErrorCode& error) {
    error = replacement_ ? failure_ : fromErrno(EBADF);
    if (error) return;
    onPool(error, [&](ErrorCode& failed) { failed = replacement_->commit(); });
    if (!error) replacement_.reset();
}
void NewFile::commit() {
    ErrorCode error;
    commit(error);
    throwIf(error, "fs::NewFile::commit", path_);
}

}  // namespace weft::fs
