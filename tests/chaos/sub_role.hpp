// Sub-roles: the functions of a chaos program that it has started itself: `http_chaos ROLE ARGUMENT...`.
#pragma once

#include <map>
#include <string>

namespace weft::test {

using SubRole = int (*)(int argc, char** argv);

inline std::map<std::string, SubRole>& subRoles() {
    static std::map<std::string, SubRole> all;
    return all;
}
// Null when there is no such role.
inline SubRole subRole(const std::string& name) {
    const auto found = subRoles().find(name);
    return found == subRoles().end() ? nullptr : found->second;
}

}  // namespace weft::test
