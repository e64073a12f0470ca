// TemporaryDirectory: an empty directory for a test, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace weft::test {

class TemporaryDirectory {
  public:
    TemporaryDirectory() : path_(testing::TempDir() + "weft-files-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) std::abort();
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    std::string path(const std::string& name) const { return path_ + '/' + name; }
    // The number of entries, hidden ones included.
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
    }

  private:
    std::string path_;
};

}  // namespace weft::test
