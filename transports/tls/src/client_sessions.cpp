#include "client_sessions.hpp"

#include <ctime>
#include <exception>
#include <utility>

#include "error_queue.hpp"

namespace weft::detail {

namespace {

bool isValid(const ::SSL_SESSION& session) noexcept {
    const long end = ::SSL_SESSION_get_time(&session) + ::SSL_SESSION_get_timeout(&session);
    return ::SSL_SESSION_is_resumable(&session) == 1 && std::time(nullptr) < end;
}

}  // namespace

// A session that cannot be kept costs a full handshake later.
void ClientSessions::add(const std::string& name, SessionPointer session) noexcept {
    const std::lock_guard held(lock_);
    try {
        if (sessions_.find(name) == sessions_.end()) {
            if (sessions_.size() >= mostNames) forgetAName();
            names_.push_back(name);
        }
        std::deque<SessionPointer>& all = sessions_[name];
        all.push_back(std::move(session));
        if (all.size() > mostOfName) all.pop_front();
    } catch (const std::exception&) {
    }
}

void ClientSessions::forgetAName() {
    sessions_.erase(names_.front());
    names_.pop_front();
}

SessionPointer ClientSessions::take(const std::string& name) noexcept {
    const std::lock_guard held(lock_);
    const auto found = sessions_.find(name);
    if (found == sessions_.end()) return nullptr;
    std::deque<SessionPointer>& all = found->second;
    while (!all.empty()) {
        SessionPointer last = std::move(all.back());
        all.pop_back();
        if (!isValid(*last)) continue;
        if (::SSL_SESSION_get_protocol_version(last.get()) < TLS1_3_VERSION) {
            ::SSL_SESSION_up_ref(last.get());
            all.emplace_back(last.get());
        }
        return last;
    }
    return nullptr;
}

void ClientSessions::resume(const std::string& name, ::SSL& connection) noexcept {
    const SessionPointer session = take(name);
    if (!session) return;
    clearErrors();
    ::SSL_set_session(&connection, session.get());
    clearErrors();
}

}  // namespace weft::detail
