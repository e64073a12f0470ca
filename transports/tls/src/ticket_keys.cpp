#include "ticket_keys.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <openssl/core_names.h>
#include <openssl/rand.h>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

namespace {

constexpr std::chrono::hours rotation{1};
constexpr std::size_t keptKeys = 3;  // with the current one

constexpr int refused = 0;
constexpr int accepted = 1;
constexpr int renewed = 2;
constexpr int failed = -1;

}  // namespace

std::shared_ptr<TicketKeys> TicketKeys::ofProcess() {
    static const std::shared_ptr<TicketKeys> keys = [] {
        auto made = std::make_shared<TicketKeys>();
        made->rotates_ = true;
        return made;
    }();
    return keys;
}

std::shared_ptr<TicketKeys> TicketKeys::fromFile(const std::string& file, const std::string& option) {
    const auto refuse = [&](const std::string& fault) {
        throw ConfigurationError(option + " '" + file + "': " + fault);
    };
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || (bytes.empty() && errno != 0))
        refuse("cannot be read: " + std::generic_category().message(errno));
    const std::size_t count = bytes.size() / bytesOfKey;
    if (bytes.size() % bytesOfKey != 0 || count < 1 || count > mostKeys) {
        refuse("has " + std::to_string(bytes.size()) + " bytes; accepted: 1 to " + std::to_string(mostKeys) +
               " keys of " + std::to_string(bytesOfKey) + " random bytes; make one by `openssl rand 80`");
    }
    auto keys = std::make_shared<TicketKeys>();
    keys->keys_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const char* const from = bytes.data() + i * bytesOfKey;
        Key& key = keys->keys_[i];
        std::memcpy(key.name.data(), from, key.name.size());
        std::memcpy(key.hmac.data(), from + key.name.size(), key.hmac.size());
        std::memcpy(key.aes.data(), from + key.name.size() + key.hmac.size(), key.aes.size());
    }
    ::OPENSSL_cleanse(bytes.data(), bytes.size());
    return keys;
}

bool TicketKeys::makeRandom(Key& key) noexcept {
    return ::RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) == 1 &&
           ::RAND_priv_bytes(key.hmac.data(), static_cast<int>(key.hmac.size())) == 1 &&
           ::RAND_priv_bytes(key.aes.data(), static_cast<int>(key.aes.size())) == 1;
}

bool TicketKeys::current(Key& key) noexcept {
    const std::lock_guard held(lock_);
    const Clock::time_point now = Clock::now();
    if (rotates_ && (keys_.empty() || now - since_ >= rotation)) {
        Key next;
        if (!makeRandom(next)) return false;
        if (now - since_ >= keptKeys * rotation) keys_.clear();  // nobody has asked for long
        try {
            keys_.insert(keys_.begin(), next);
        } catch (const std::bad_alloc&) {
            return false;
        }
        keys_.resize(std::min(keys_.size(), keptKeys));
        since_ = now;
    }
    key = keys_.front();
    return true;
}

bool TicketKeys::setMac(::EVP_MAC_CTX* mac, const Key& key) noexcept {
    char digest[] = "SHA256";
    const ::OSSL_PARAM parameters[] = {
        ::OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, const_cast<unsigned char*>(key.hmac.data()),
                                            key.hmac.size()),
        ::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), ::OSSL_PARAM_construct_end()};
    return ::EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

int TicketKeys::seal(::SSL&, unsigned char* name, unsigned char* iv, ::EVP_CIPHER_CTX* cipher,
                     ::EVP_MAC_CTX* mac) noexcept {
    Key key;
    if (!current(key)) return failed;
    std::memcpy(name, key.name.data(), key.name.size());
    const bool done = ::RAND_bytes(iv, EVP_MAX_IV_LENGTH) == 1 &&
                      ::EVP_EncryptInit_ex(cipher, ::EVP_aes_256_cbc(), nullptr, key.aes.data(), iv) == 1 &&
                      setMac(mac, key);
    return done ? accepted : failed;
}

// In TLS 1.3 a client uses a ticket once, and libssl sends new ones only if this one is to be renewed.
int TicketKeys::open(::SSL& ssl, const unsigned char* name, const unsigned char* iv, ::EVP_CIPHER_CTX* cipher,
                     ::EVP_MAC_CTX* mac) noexcept {
    Key newest;
    if (!current(newest)) return failed;
    Key key;
    {
        const std::lock_guard held(lock_);
        const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key& each) {
            return std::memcmp(each.name.data(), name, each.name.size()) == 0;
        });
        if (found == keys_.end()) return refused;
        key = *found;
    }
    const bool done =
        ::EVP_DecryptInit_ex(cipher, ::EVP_aes_256_cbc(), nullptr, key.aes.data(), iv) == 1 && setMac(mac, key);
    if (!done) return failed;
    return ::SSL_version(&ssl) >= TLS1_3_VERSION || key.name != newest.name ? renewed : accepted;
}

}  // namespace weft::detail
