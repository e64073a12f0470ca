// KeyLog: the file with the secrets of connections, in the format of NSS, as Wireshark reads it.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include <weft/transports/fd.hpp>

namespace weft::detail {

// Context: any thread. A write blocks, as files do: it is for debugging.
class KeyLog {
  public:
    // Appends to a regular file that belongs to the user and that no other may use, or creates one. A symbolic link is
    // not followed. `option` names the file in errors. Throws ConfigurationError.
    KeyLog(const std::string& file, const std::string& option);

    void write(std::string_view line) noexcept;

  private:
    std::mutex lock_;
    Fd file_;
};

}  // namespace weft::detail
