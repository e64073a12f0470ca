// The choice of a server's context by the name that a client asks for (RFC 6066, section 3). It is made in the call for
// the client's hello, before libssl looks for a session: later, a session of one name would be resumed at another.
#include <algorithm>
#include <cctype>
#include <exception>
#include <string>
#include <string_view>

#include <weft/tls/ssl_engine.hpp>

#include "ssl_context_state.hpp"

namespace weft {

namespace {

constexpr std::size_t longestName = 253;

std::string lower(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    std::string result(name);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

// Letters, digits, '-', '_' and single dots between.
bool isHostName(std::string_view name) noexcept {
    if (name.empty() || name.size() > longestName || name.front() == '.' || name.back() == '.') return false;
    if (name.find("..") != std::string_view::npos) return false;
    return std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
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
        const std::string name = lower(given);
        const std::string_view checked = name.starts_with("*.") ? std::string_view(name).substr(2) : name;
        if (!isHostName(checked))
            refuse("names",
                   "'" + given + "' is no name; accepted: \"shop.test\", or \"*.shop.test\" for one label in front");
        if (!chosen.isServer()) refuse("names", "the context for '" + given + "' is a client's");
        if (!names_.emplace(name, chosen.state_).second) refuse("names", "'" + given + "' is there twice");
    }
    if (!names_.empty()) ::SSL_CTX_set_client_hello_cb(context.get(), &State::chooseByName, this);
}

// An exact name precedes a wildcard. Null: this context.
SslContext::State::SharedState SslContext::State::contextFor(std::string_view asked) const {
    if (asked.size() > longestName + 1) return nullptr;
    const std::string name = lower(asked);
    auto found = names_.find(name);
    const std::size_t dot = name.find('.');
    if (found == names_.end() && dot != std::string::npos && dot > 0) found = names_.find("*" + name.substr(dot));
    return found == names_.end() ? nullptr : found->second;
}

int SslContext::State::chooseByName(::SSL* ssl, int* alert, void* first) noexcept {
    *alert = SSL_AD_INTERNAL_ERROR;
    try {
        const SharedState chosen = static_cast<const State*>(first)->contextFor(serverNameOf(ssl));
        if (!chosen) return SSL_CLIENT_HELLO_SUCCESS;
        if (!chosen->enter(*ssl)) return SSL_CLIENT_HELLO_ERROR;
        auto& engine = *static_cast<SslEngine*>(SSL_get_app_data(ssl));
        engine.chosen_ = chosen;
        return SSL_CLIENT_HELLO_SUCCESS;
    } catch (const std::exception&) {
        return SSL_CLIENT_HELLO_ERROR;
    }
}

// SSL_set_SSL_CTX() brings the certificates and the id of sessions only.
bool SslContext::State::enter(::SSL& ssl) const noexcept {
    ::SSL_CTX* const own = context.get();
    if (::SSL_set_SSL_CTX(&ssl, own) != own) return false;
    ::SSL_set_verify(&ssl, ::SSL_CTX_get_verify_mode(own), nullptr);
    ::SSL_clear_options(&ssl, ::SSL_get_options(&ssl));
    ::SSL_set_options(&ssl, ::SSL_CTX_get_options(own));
    return SSL_set_min_proto_version(&ssl, SSL_CTX_get_min_proto_version(own)) == 1 &&
           ::SSL_set_num_tickets(&ssl, ::SSL_CTX_get_num_tickets(own)) == 1;
}

}  // namespace weft
