#include "client_sessions.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

#include "error_queue.hpp"

namespace weft::detail {

namespace {

std::time_t beginOf(const ::SSL_SESSION& session) noexcept {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return ::SSL_SESSION_get_time_ex(&session);
#else
    return ::SSL_SESSION_get_time(&session);
#endif
}

bool isValid(const ::SSL_SESSION& session) noexcept {
    const std::time_t end = beginOf(session) + ::SSL_SESSION_get_timeout(&session);
    return ::SSL_SESSION_is_resumable(&session) == 1 && std::time(nullptr) < end && !peerHasExpired(session);
}

}  // namespace

bool peerHasExpired(const ::SSL_SESSION& session) noexcept {
    const ::X509* const peer = ::SSL_SESSION_get0_peer(const_cast<::SSL_SESSION*>(&session));
    return peer != nullptr && ::X509_cmp_current_time(::X509_get0_notAfter(peer)) < 0;
}

bool ClientSessions::isSmall(const ::SSL& connection, const ::SSL_SESSION& session) noexcept {
    const unsigned char* ticket = nullptr;
    std::size_t bytes = 0;
    ::SSL_SESSION_get0_ticket(&session, &ticket, &bytes);
    if (bytes > mostTicketBytes) return false;
    std::size_t chainBytes = 0;
    const STACK_OF(X509)* const chain = ::SSL_get_peer_cert_chain(&connection);
    for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i)
        chainBytes += static_cast<std::size_t>(std::max(::i2d_X509(sk_X509_value(chain, i), nullptr), 0));
    return chainBytes <= mostChainBytes;
}

// A session that cannot be kept costs a full handshake later.
void ClientSessions::add(const std::string& name, SessionPointer session) noexcept {
    const std::lock_guard held(lock_);
    try {
        Sessions& all = sessionsOf(name);
        all.push_back(std::move(session));
        ++count_;
        if (all.size() > mostOfName) {
            all.pop_front();
            --count_;
        }
        while (count_ > mostSessions) forgetAName();
    } catch (const std::exception&) {
    }
}

// Makes the name the one that was used last.
ClientSessions::Sessions& ClientSessions::sessionsOf(const std::string& name) {
    const auto [found, isNew] = sessions_.try_emplace(name);
    try {
        names_.push_back(name);
    } catch (...) {
        if (isNew) sessions_.erase(found);
        throw;
    }
    if (!isNew) names_.erase(std::find(names_.begin(), names_.end(), name));
    if (sessions_.size() > mostNames) forgetAName();
    return found->second;
}

void ClientSessions::forgetAName() noexcept {
    const auto oldest = sessions_.find(names_.front());
    count_ -= oldest->second.size();
    sessions_.erase(oldest);
    names_.pop_front();
}

SessionPointer ClientSessions::take(const std::string& name) noexcept {
    const std::lock_guard held(lock_);
    const auto found = sessions_.find(name);
    if (found == sessions_.end()) return nullptr;
    for (Sessions& all = found->second; !all.empty(); all.pop_back(), --count_) {
        ::SSL_SESSION* const last = all.back().get();
        if (!isValid(*last)) continue;
        if (::SSL_SESSION_get_protocol_version(last) >= TLS1_3_VERSION) {
            SessionPointer once = std::move(all.back());
            all.pop_back();
            --count_;
            return once;
        }
        ::SSL_SESSION_up_ref(last);
        return SessionPointer(last);
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
