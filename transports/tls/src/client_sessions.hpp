// ClientSessions: the sessions that a client's connections may resume.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "openssl_pointers.hpp"

namespace weft::detail {

// Of one context, so under one policy of verification. Context: any thread.
class ClientSessions {
  public:
    static constexpr std::size_t mostOfName = 8;  // a pool opens several connections at once
    static constexpr std::size_t mostNames = 1024;

    // Keeps it as the newest one of this name.
    void add(const std::string& name, SessionPointer session) noexcept;
    // Lets the connection, which has not begun, resume the newest session of this name that is still valid. In TLS 1.3
    // that is used once, so that two connections cannot be told to be one client's (RFC 8446, appendix C.4).
    void resume(const std::string& name, ::SSL& connection) noexcept;

  private:
    SessionPointer take(const std::string& name) noexcept;
    void forgetAName();

    std::mutex lock_;                                                       // guards the members below
    std::unordered_map<std::string, std::deque<SessionPointer>> sessions_;  // the newest last
    std::deque<std::string> names_;                                         // in the order in which they came
};

}  // namespace weft::detail
