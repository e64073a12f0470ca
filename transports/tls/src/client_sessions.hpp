// ClientSessions: the sessions that a client's connections may resume.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "openssl_pointers.hpp"

namespace weft::detail {

// Whether the certificate of the session's other side has expired since.
bool peerHasExpired(const ::SSL_SESSION& session) noexcept;

// Of one context, so under one policy of verification. Context: any thread.
class ClientSessions {
  public:
    static constexpr std::size_t mostOfName = 8;  // a pool opens several connections at once
    static constexpr std::size_t mostNames = 1024;
    // A server chooses how large they are. 1,024 sessions at these limits are 30 MiB.
    static constexpr std::size_t mostSessions = 1024;
    static constexpr std::size_t mostTicketBytes = 4 * 1024;
    static constexpr std::size_t mostChainBytes = 16 * 1024;

    // Whether a session of this connection may be kept.
    static bool isSmall(const ::SSL& connection, const ::SSL_SESSION& session) noexcept;

    // Keeps it as the newest one of this name. The names that were used least recently give way.
    void add(const std::string& name, SessionPointer session) noexcept;
    // Lets the connection, which has not begun, resume the newest session of this name that is still valid. In TLS 1.3
    // that is used once, so that two connections cannot be told to be one client's (RFC 8446, appendix C.4).
    void resume(const std::string& name, ::SSL& connection) noexcept;

  private:
    using Sessions = std::deque<SessionPointer>;  // the newest last

    SessionPointer take(const std::string& name) noexcept;
    Sessions& sessionsOf(const std::string& name);
    void forgetAName() noexcept;

    std::mutex lock_;  // guards the members below
    std::unordered_map<std::string, Sessions> sessions_;
    std::deque<std::string> names_;  // of sessions_; the one that was used last is the last
    std::size_t count_ = 0;
};

}  // namespace weft::detail
