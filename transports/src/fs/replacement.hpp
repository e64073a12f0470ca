// Replacement: the steps of one replaceFile() or NewFile: a new file in the directory of the former one, which takes
// its name once it is complete. It blocks its thread, and knows neither fibers nor the pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// The new file has no name while it is written where the file system allows that (O_TMPFILE), so that a process that
// dies leaves nothing; elsewhere it has one that no other call uses. Names are relative to the open directory and do
// not depend on the length of the path. Use once.
class Replacement {
  public:
    explicit Replacement(const std::string& path);
    ~Replacement();  // removes what has not replaced the former file
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;

    // The whole replacement. `permissions`: of a file that did not exist, without the bits of the process's umask. The
    // permissions of one that did are kept. Throws std::bad_alloc.
    ErrorCode write(std::string_view bytes, mode_t permissions);
    // The same in steps: begin() first, then append() any number of times, then commit(). After an append() that
    // failed, the others fail, too.
    ErrorCode begin(mode_t permissions);
    ErrorCode append(std::string_view bytes) noexcept;
    ErrorCode commit();

  private:
    ErrorCode openDirectory() noexcept;
    void readFormer() noexcept;
    ErrorCode create(mode_t permissions, bool unnamed);
    ErrorCode complete() noexcept;
    ErrorCode setPermissions() noexcept;
    std::string self() const;
    bool canBeLinked() const;
    ErrorCode link();
    ErrorCode publish() noexcept;
    ErrorCode close() noexcept;
    ErrorCode rename() noexcept;
    ErrorCode syncDirectory() noexcept;

    const std::string path_;
    std::string directoryName_ = ".";
    std::string name_;
    std::string temporary_;  // the new file's name; empty: it has none
    int directory_ = -1;
    int file_ = -1;
    int spare_ = -1;  // a duplicate of file_, when the directory cannot be read
    bool readable_ = true;
    std::optional<struct ::stat> former_;
    bool hasAccessList_ = false;
};

}  // namespace weft::detail
