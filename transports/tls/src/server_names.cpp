// The choice of a server's context by the name that a client asks for (RFC 6066, section 3). It is made in the call for
// the client's hello, before libssl looks for a session: later, a session of one name would be resumed at another.
#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>

#include <weft/tls/ssl_engine.hpp>

#include "ssl_context_state.hpp"

namespace weft {

namespace {

constexpr std::size_t longestName = 253;

// Of ASCII, whatever the program's locale.
char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string normal(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    std::string result(name);
    for (char& c : result) c = lower(c);
    return result;
}

// Letters, digits, '-', '_' and single dots between; in normal form.
bool isHostName(std::string_view name) noexcept {
    if (name.empty() || name.size() > longestName || name.front() == '.' || name.back() == '.') return false;
    if (name.find("..") != std::string_view::npos) return false;
    return std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    });
}

unsigned read16(std::string_view bytes) noexcept {
    return static_cast<unsigned char>(bytes[0]) * 256u + static_cast<unsigned char>(bytes[1]);
}

// The host name of the extension: a list of one entry, of type 0. Empty: none, or malformed, which libssl refuses.
std::string_view nameIn(std::string_view extension) noexcept {
    constexpr std::size_t header = 5;
    if (extension.size() < header || extension[2] != 0) return {};
    const std::size_t size = read16(extension.substr(3));
    return read16(extension) == extension.size() - 2 && size == extension.size() - header ? extension.substr(header)
                                                                                          : std::string_view();
}

std::string_view serverNameOf(::SSL* ssl) noexcept {
    const unsigned char* bytes = nullptr;
    std::size_t size = 0;
    if (::SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &size) != 1) return {};
    return nameIn({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace

void SslContext::State::setNames(const std::vector<std::pair<std::string, SslContext>>& names) {
    for (const auto& [given, chosen] : names) {
        const std::string name = normal(given);
        const std::string_view checked = name.starts_with("*.") ? std::string_view(name).substr(2) : name;
        if (!isHostName(checked)) {
            refuse("names",
                   "'" + given + "' is no name; accepted: \"shop.test\", or \"*.shop.test\" for one label in front");
        }
        if (!chosen.isServer()) refuse("names", "the context for '" + given + "' is a client's");
        if (!chosen.state_->names_.empty())
            refuse("names", "the context for '" + given + "' has names of its own, which would never be chosen");
        if (!names_.emplace(name, chosen.state_).second) refuse("names", "'" + given + "' is there twice");
    }
    ::SSL_CTX_set_client_hello_cb(context.get(), &State::onHello, nullptr);
}

// An exact name precedes a wildcard. Null: this context. `name`: in normal form.
SslContext::State::SharedState SslContext::State::contextFor(const std::string& name) const {
    auto found = names_.find(name);
    const std::size_t dot = name.find('.');
    if (found == names_.end() && dot != std::string::npos && dot > 0) found = names_.find("*" + name.substr(dot));
    return found == names_.end() ? nullptr : found->second;
}

int SslContext::State::onHello(::SSL* ssl, int* alert, void*) noexcept {
    *alert = SSL_AD_INTERNAL_ERROR;
    try {
        return answerHello(*ssl, *static_cast<SslEngine*>(SSL_get_app_data(ssl)), alert);
    } catch (const std::exception&) {
        return SSL_CLIENT_HELLO_ERROR;
    }
}

// A client may be asked for a second hello (RFC 8446, section 4.1.4). Its name must be the first one's: it has been
// admitted by the rules of that one.
int SslContext::State::answerHello(::SSL& ssl, SslEngine& engine, int* alert) {
    std::string name(serverNameOf(&ssl));
    if (engine.helloSeen_) {
        *alert = SSL_AD_ILLEGAL_PARAMETER;
        return name == engine.serverName_ ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
    }
    const State& own = *engine.context_;
    std::string asked = name.size() <= longestName + 1 ? normal(name) : std::string();
    if (engine.requested_.empty()) {
        engine.chosen_ = own.contextFor(asked);
        if (!engine.chosen_ && own.lookup && isHostName(asked)) {
            engine.requested_ = std::move(asked);
            return SSL_CLIENT_HELLO_RETRY;
        }
    }
    engine.requested_.clear();  // else this is the call after SslEngine::choose()
    engine.helloSeen_ = true;
    engine.serverName_ = std::move(name);
    const State& rules = engine.chosen_ ? *engine.chosen_ : own;
    const bool entered = (!engine.chosen_ || rules.enter(ssl)) && rules.setSessionId(ssl, asked);
    return entered ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
}

// SSL_set_SSL_CTX() brings the certificates only.
bool SslContext::State::enter(::SSL& ssl) const noexcept {
    ::SSL_CTX* const own = context.get();
    if (::SSL_set_SSL_CTX(&ssl, own) != own) return false;
    ::SSL_set_verify(&ssl, ::SSL_CTX_get_verify_mode(own), nullptr);
    ::SSL_clear_options(&ssl, ::SSL_get_options(&ssl));
    ::SSL_set_options(&ssl, ::SSL_CTX_get_options(own));
    return SSL_set_min_proto_version(&ssl, SSL_CTX_get_min_proto_version(own)) == 1 &&
           ::SSL_set_num_tickets(&ssl, ::SSL_CTX_get_num_tickets(own)) == 1;
}

// RFC 6066, section 3: a session is not resumed for another name, although both may have this context.
bool SslContext::State::setSessionId(::SSL& ssl, const std::string& name) const {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    const std::string all = sessionId_ + name;
    return ::EVP_Digest(all.data(), all.size(), digest.data(), &size, ::EVP_sha256(), nullptr) == 1 &&
           ::SSL_set_session_id_context(&ssl, digest.data(), size) == 1;
}

}  // namespace weft
