// NewFile: a file that is written piece by piece and appears, or replaces another one, only when it is complete.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <weft/scheduler/errors.hpp>

namespace weft {
namespace detail {
class Replacement;
}

namespace fs {

//     fs::NewFile file("uploads/" + name);
//     while (const auto piece = call.body().read()) file.write(piece->view());
//     file.commit();
// Until commit(), `path` is as it was, and the new file is in its directory: without a name or, where the file system
// does not support that, as `.weft-NUMBER.tmp`. Of a NewFile that is destroyed before, nothing is left; of a process
// that dies, at most that name. Two at one path do not disturb each other: the later commit() counts. What becomes of
// permissions, owners and links: as replaceFile().
// Move-only. Context, blocking, errors and the two forms of each function: as File; one fiber at a time. After a failed
// write() all later ones and commit() fail; after a failed commit(), destroy it.
class NewFile {
  public:
    // Creates the file. `permissions`: if `path` does not exist, without the bits of the process's umask.
    explicit NewFile(std::string path, mode_t permissions = 0666);
    static NewFile open(std::string path, ErrorCode& error) { return open(std::move(path), 0666, error); }
    static NewFile open(std::string path, mode_t permissions, ErrorCode& error);  // after an error: a closed one
    NewFile(NewFile&&) noexcept;
    NewFile& operator=(NewFile&& other) noexcept;
    // Removes a file that has not been committed. On a carrier the pool does so, and the destructor does not wait.
    ~NewFile();

    // All of the bytes, at the end.
    void write(std::string_view bytes);
    void write(std::string_view bytes, ErrorCode& error);
    // Syncs the file, gives it its name, and syncs the directory. Once; then isOpen() is false. EBADF when it is
    // closed.
    void commit();
    void commit(ErrorCode& error);
    bool isOpen() const noexcept { return replacement_ != nullptr; }
    const std::string& path() const noexcept { return path_; }

  private:
    struct Closed {};
    NewFile(Closed, std::string path) noexcept;
    void begin(mode_t permissions, ErrorCode& error);
    void discard() noexcept;

    std::string path_;
    std::unique_ptr<weft::detail::Replacement> replacement_;  // null: closed
    ErrorCode failure_;                                       // of a write(): a piece of the file is missing
};

}  // namespace fs
}  // namespace weft
