// Whole files in one call: read one, write one, and replace one so that readers see the old bytes or the new ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <weft/scheduler/errors.hpp>

namespace weft::fs {

// Context, blocking, errors and the two forms of each function: as File.

// EFBIG if the file has more than `limit` bytes.
std::string readFile(const std::string& path, std::size_t limit);
std::string readFile(const std::string& path, std::size_t limit, ErrorCode& error);

// Creates the file, or overwrites it in place: a reader may see a part of the bytes, and a crash may leave a part.
// `permissions`: of a file that is created, without the bits of the process's umask.
void writeFile(const std::string& path, std::string_view bytes, mode_t permissions = 0666);
void writeFile(const std::string& path, std::string_view bytes, ErrorCode& error);
void writeFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error);

// Creates the file, or replaces it at once: writes a new file in its directory, syncs it, renames it to `path` and
// syncs the directory. Readers and a crash find all of the old bytes or all of the new ones. The new file has no name
// while it is written; where the file system does not support that, it is `.weft-NUMBER.tmp`, which a process that dies
// leaves. An existing file's permissions are kept, and the new one never has others. Its owner, group, access list and
// hard links are not: so set-user-ID is lost with another owner and set-group-ID with another group, and a group that
// is new, or was in an access list, gets no permission that all others lack. A symbolic link is replaced itself. After
// an error the new file has been removed, unless only the sync of the directory failed. In a directory that the process
// may not read, the sync is one of its whole file system.
void replaceFile(const std::string& path, std::string_view bytes, mode_t permissions = 0666);
void replaceFile(const std::string& path, std::string_view bytes, ErrorCode& error);
void replaceFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error);

}  // namespace weft::fs
