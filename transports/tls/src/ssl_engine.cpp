#include <weft/tls/ssl_engine.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <weft/scheduler/assert.hpp>

#include "certificates.hpp"
#include "error_queue.hpp"
#include "ssl_context_state.hpp"

namespace weft {

using detail::clearErrors;

namespace {

constexpr unsigned char handshakeRecord = 22;  // RFC 8446, section 5.1
constexpr unsigned mostHandshakeRecords = 16;  // in one step: a client's certificates may be that long

bool isAddress(const std::string& name) noexcept {
    in6_addr address;
    return ::inet_pton(AF_INET, name.c_str(), &address) == 1 || ::inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

// RFC 6066, section 3: without the root's dot.
std::string withoutDot(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    return std::string(name);
}

}  // namespace

SslEngine::SslEngine(const SslContext& server) : context_(server.state_) {
    WEFT_ASSERT(context_->isServer, "SslEngine: a client's context needs the server's name");
}

SslEngine::SslEngine(const SslContext& client, std::string_view serverName)
    : context_(client.state_), serverName_(withoutDot(serverName)) {
    WEFT_ASSERT(!context_->isServer, "SslEngine: a server's context takes no name");
    const bool isName = !serverName_.empty() && serverName_.front() != '.' && serverName_.size() <= 253 &&
                        serverName_.find('\0') == std::string::npos;
    if (context_->verifiesPeer && !isName) {
        throw std::invalid_argument("SslEngine: the server's name '" + serverName_ +
                                    "' cannot be verified; accepted: an IP address, or a host name of 1 to 253 bytes "
                                    "without a dot in front");
    }
}

// Without the marks libssl would take the end for a break and forget the session.
SslEngine::~SslEngine() {
    if (failure_ != &Failure::noMemory()) delete failure_;
    if (ssl_ == nullptr) return;
    if (!failed()) ::SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    ::SSL_free(ssl_);
    clearErrors();
}

// ---- handshake ----

bool SslEngine::open() {
    clearErrors();
    ssl_ = ::SSL_new(context_->context.get());
    bio_st* const bio = ssl_ != nullptr ? bio_.open() : nullptr;
    if (bio == nullptr) return fail(fromErrno(ENOMEM)), false;
    ::SSL_set_bio(ssl_, bio, bio);
    SSL_set_app_data(ssl_, this);
    return true;
}

void SslEngine::begin(ChannelOutput& wire) {
    WEFT_ASSERT(!context_->isServer && ssl_ == nullptr, "SslEngine::begin() is called once, for a client");
    bio_.setOutput(wire);
    if (!open()) return;
    ::SSL_set_connect_state(ssl_);
    setServerName();
    if (context_->sessions) context_->sessions->resume(serverName_, *ssl_);
    if (!failed()) handshake();
}

void SslEngine::setServerName() {
    const std::string& name = serverName_;
    if (name.empty()) return;
    const bool address = isAddress(name);
    bool done = address || SSL_set_tlsext_host_name(ssl_, name.c_str()) == 1;
    ::SSL_set_hostflags(ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    done = done && (address ? ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_), name.c_str()) == 1
                            : ::SSL_set1_host(ssl_, name.c_str()) == 1);
    if (!done) fail(fromErrno(ENOMEM));
}

bool SslEngine::isPlain() const noexcept {
    return bio_.inputBytes() > 0 && bio_.at(0) != handshakeRecord;
}

// The first byte decides whether a peer speaks TLS, so that another protocol can be answered in its own words, and no
// memory is allocated before a record's header is complete.
bool SslEngine::beginServer(ChannelOutput& wire) {
    if (!context_->isServer) return false;  // a client whose begin() comes later
    if (isPlain()) {
        fail(SslError::notTls);
        if (!context_->plainAnswer.empty()) wire.append(context_->plainAnswer);
        return false;
    }
    if (!bio_.wholeHeader()) {
        if (bio_.inputEnded()) fail(SslError::truncated);
        return false;
    }
    if (!open()) return false;
    ::SSL_set_accept_state(ssl_);
    return true;
}

SslEngine::Step SslEngine::receive(Buffer& plain, ChannelOutput& wire) {
    if (failed()) return Step::failed;
    if (peerClosed_) return Step::peerClosed;
    bio_.setOutput(wire);
    if (ssl_ == nullptr && !beginServer(wire)) return failed() ? Step::failed : Step::needInput;
    return established_ ? readRecords(plain) : handshake();
}

bool SslEngine::canShakeHands() const noexcept {
    if (established_ || failed() || choosing_) return false;
    if (ssl_ != nullptr) return resumes_ || bio_.readable();
    return context_->isServer && (bio_.readable() || isPlain());
}

SslEngine::Step SslEngine::handshake() {
    const bool begins = ::SSL_in_before(ssl_) != 0 && !context_->isServer;  // a client begins without input
    if (!begins && !canShakeHands()) return Step::needInput;
    resumes_ = false;
    bio_.allow(mostHandshakeRecords);
    clearErrors();
    const int result = ::SSL_do_handshake(ssl_);
    if (result == 1) {
        established_ = true;
        hasPending_ = ::SSL_has_pending(ssl_) != 0;  // TLS 1.2 allows more behind the last message
        watchMessages();
        return Step::handshakeDone;
    }
    switch (::SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ: return Step::needInput;
        case SSL_ERROR_WANT_CLIENT_HELLO_CB: choosing_ = true; return Step::needContext;
        default: return fail(), Step::failed;
    }
}

// Nothing can come of a handshake that has not begun, or that a client's hello has begun.
void SslEngine::endInput() noexcept {
    bio_.endInput();
    if (failed() || !context_->isServer) return;
    const bool unbegun = ssl_ == nullptr && !isPlain();
    if (unbegun || (choosing_ && bio_.inputBytes() == 0)) fail(SslError::truncated);
}

// ---- the choice of a server's context ----

std::function<std::optional<SslContext>()> SslEngine::lookup() const {
    return [context = context_, name = requested_] { return context->lookup(name); };
}

void SslEngine::choose(const std::optional<SslContext>& context) {
    if (context && !context->isServer()) throw std::invalid_argument("the context is a client's");
    if (!std::exchange(choosing_, false) || failed()) return;
    if (context) chosen_ = context->state_;
    resumes_ = true;
}

// RFC 8446, section 6: nothing is encrypted yet.
void SslEngine::refuse(const ErrorCode& error, std::string text, ChannelOutput& wire) noexcept {
    if (!std::exchange(choosing_, false) || failed()) return;
    constexpr std::array<char, 7> internalError{21, 3, 3, 0, 2, 2, 80};  // a fatal alert in a record
    try {
        wire.append(std::string_view(internalError.data(), internalError.size()));
    } catch (const std::bad_alloc&) {  // the client sees the end only
    }
    fail(error, std::move(text));
}

unsigned SslEngine::mostHandshakes() const noexcept {
    return context_->mostHandshakes;
}

// ---- input ----

SslEngine::Step SslEngine::readRecords(Buffer& plain) {
    const std::size_t before = plain.readableBytes();
    while (plain.writableBytes() > 0 && (hasPending_ || bio_.readable()) && readOne(plain)) {
    }
    if (plain.readableBytes() > before) return Step::plaintext;  // the next call returns what followed
    if (failed()) return Step::failed;
    return peerClosed_ ? Step::peerClosed : Step::needInput;
}

// False: nothing more can be read now.
bool SslEngine::readOne(Buffer& plain) {
    std::size_t bytes = 0;
    const unsigned counted = emptyInRow_;
    bio_.allow(1);
    clearErrors();
    const std::size_t room = plain.writableBytes();
    if (::SSL_read_ex(ssl_, plain.writeData(), room, &bytes) == 1) [[likely]] {
        plain.produced(bytes);
        hasPending_ = bytes == room && ::SSL_has_pending(ssl_) != 0;
        countRecord(true);
        return true;
    }
    hasPending_ = false;
    if (bio_.betweenRecords() && counted == emptyInRow_) countRecord(false);
    if (isFlood()) return fail(SslError::tooManyEmptyRecords), false;
    switch (::SSL_get_error(ssl_, 0)) {
        case SSL_ERROR_WANT_READ: return bio_.readable();
        case SSL_ERROR_ZERO_RETURN:
            peerClosed_ = true;
            bio_.clear();
            return false;
        default: return fail(), false;
    }
}

void SslEngine::countRecord(bool hasData) noexcept {
    constexpr std::uint16_t window = 1000;
    if (++records_ >= 2 * window) {
        records_ /= 2;
        emptyRecords_ /= 2;
    }
    emptyInRow_ = hasData ? std::uint8_t{0} : static_cast<std::uint8_t>(emptyInRow_ + 1);
    if (!hasData) ++emptyRecords_;
}

// All that a client may send in TLS 1.3 is a key update, which ends its record (RFC 8446, section 5.1): the records are
// counted anyway.
void SslEngine::watchMessages() noexcept {
    if (context_->isServer && ::SSL_version(ssl_) == TLS1_3_VERSION) return;
    ::SSL_set_msg_callback(ssl_, &SslEngine::onMessage);
    SSL_set_msg_callback_arg(ssl_, this);
}

// Messages after the handshake: libssl answers as many as a record has, so a flood is stopped between two of them. What
// is left of the record is then dropped, as after a close_notify.
void SslEngine::onMessage(int isWritten, int, int type, const void*, std::size_t, ssl_st* ssl, void* engine) noexcept {
    SslEngine& self = *static_cast<SslEngine*>(engine);
    if (isWritten != 0 || type != SSL3_RT_HANDSHAKE) return;
    self.countRecord(false);
    if (self.isFlood()) ::SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
}

bool SslEngine::isFlood() const noexcept {
    return emptyInRow_ > mostEmptyRecords || emptyRecords_ > mostEmptyRecords + records_ / 4;
}

// ---- output ----

std::size_t SslEngine::send(std::string_view plain, ChannelOutput& wire) {
    if (!established_ || closed_ || failed() || isWaitingForPeer()) return 0;
    std::size_t sent = 0;
    bio_.setOutput(wire);
    clearErrors();
    if (::SSL_write_ex(ssl_, plain.data(), std::min(plain.size(), recordBytes()), &sent) == 1) {
        if (sentYoung_ < youngBytes) sentYoung_ += sent;
        return sent;
    }
    fail();
    return 0;
}

void SslEngine::closeOutput(ChannelOutput& wire) {
    if (!established_ || closed_ || failed() || isWaitingForPeer()) return;
    closed_ = true;
    bio_.setOutput(wire);
    clearErrors();
    if (::SSL_shutdown(ssl_) < 0) fail();
}

bool SslEngine::isServer() const noexcept {
    return context_->isServer;
}

bool SslEngine::isWaitingForPeer() const noexcept {
    return established_ && ::SSL_in_init(ssl_) != 0;
}

void SslEngine::releaseBuffers() noexcept {
    // libssl before 3.0.14 frees a buffer that holds a part of a record (CVE-2024-4741).
    if (!established_ || failed() || !bio_.betweenRecords() || hasPending_) return;
    sentYoung_ = 0;
    ::SSL_free_buffers(ssl_);
}

// ---- what was negotiated ----

std::string_view SslEngine::protocol() const noexcept {
    return established_ ? ::SSL_get_version(ssl_) : std::string_view();
}

std::string_view SslEngine::cipher() const noexcept {
    return established_ ? ::SSL_get_cipher_name(ssl_) : std::string_view();
}

std::string_view SslEngine::applicationProtocol() const noexcept {
    if (!established_) return {};
    const unsigned char* name = nullptr;
    unsigned int bytes = 0;
    ::SSL_get0_alpn_selected(ssl_, &name, &bytes);
    return {reinterpret_cast<const char*>(name), bytes};
}

// libssl forgets the name in a resumed session of TLS 1.2.
std::string_view SslEngine::serverName() const noexcept {
    const bool asked = established_ && (context_->isServer || !isAddress(serverName_));
    return asked ? serverName_ : std::string_view();
}

std::optional<PeerCertificate> SslEngine::peerCertificate() const {
    ::X509* const certificate = established_ ? ::SSL_get0_peer_certificate(ssl_) : nullptr;
    if (certificate == nullptr) return std::nullopt;
    const bool verified = (chosen_ ? chosen_ : context_)->verifiesPeer && ::SSL_get_verify_result(ssl_) == X509_V_OK;
    return detail::peerCertificate(*certificate, verified ? ::SSL_get0_verified_chain(ssl_) : nullptr);
}

bool SslEngine::isResumed() const noexcept {
    return established_ && ::SSL_session_reused(ssl_) != 0;
}

}  // namespace weft
