// SealedRecords: records of TLS 1.3 with any content, encrypted by hand with the keys of one side.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

namespace weft::test {

class SealedRecords {
  public:
    enum class Of { client, server };

    // For SSL_CTX: the cipher that is used here, and what its keys are made of.
    static void configure(::SSL_CTX* context) {
        ::SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
        ::SSL_CTX_set_keylog_callback(context, [](const ::SSL*, const char* line) {
            const std::string_view text(line);
            for (const Of side : {Of::client, Of::server}) {
                if (text.starts_with(side == Of::client ? "CLIENT_TRAFFIC_SECRET_0 " : "SERVER_TRAFFIC_SECRET_0 "))
                    secret(side) = decoded(text.substr(text.rfind(' ') + 1));
            }
        });
    }

    // With the secret of the last connection whose context was configured.
    explicit SealedRecords(Of side = Of::client) : secret_(secret(side)) { useSecret(); }

    // That many records have been sent with the keys.
    void skip(std::uint64_t records) { sequence_ += records; }
    // The keys that follow a key update (RFC 8446, section 7.2).
    void updateKeys() {
        secret_ = expanded("traffic upd", secret_.size());
        useSecret();
    }

    // `type`: 22 for the handshake protocol, 23 for data. `padding`: zero bytes behind it.
    std::string seal(unsigned char type, std::string_view content, std::size_t padding = 0) {
        std::string plain(content);
        plain += static_cast<char>(type);
        plain.append(padding, '\0');
        const std::size_t size = plain.size() + tagBytes;
        std::string record("\x17\x03\x03", 3);
        record += static_cast<char>(size >> 8);
        record += static_cast<char>(size & 0xff);
        std::string nonce = iv_;
        for (int i = 0; i < 8; ++i) nonce[11 - static_cast<unsigned>(i)] ^= static_cast<char>(sequence_ >> (8 * i));
        ++sequence_;
        ::EVP_CIPHER_CTX* const cipher = ::EVP_CIPHER_CTX_new();
        std::string sealed(plain.size(), '\0');
        std::array<char, tagBytes> tag{};
        int bytes = 0;
        ::EVP_EncryptInit_ex(cipher, ::EVP_aes_128_gcm(), nullptr, unsignedOf(key_), unsignedOf(nonce));
        ::EVP_EncryptUpdate(cipher, nullptr, &bytes, unsignedOf(record), static_cast<int>(record.size()));
        ::EVP_EncryptUpdate(cipher, reinterpret_cast<unsigned char*>(sealed.data()), &bytes, unsignedOf(plain),
                            static_cast<int>(plain.size()));
        ::EVP_EncryptFinal_ex(cipher, reinterpret_cast<unsigned char*>(tag.data()), &bytes);
        ::EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, tagBytes, tag.data());
        ::EVP_CIPHER_CTX_free(cipher);
        return record + sealed + std::string(tag.data(), tag.size());
    }

  private:
    static constexpr int tagBytes = 16;

    static std::string& secret(Of side) {
        static thread_local std::string last[2];
        return last[side == Of::client ? 0 : 1];
    }
    static const unsigned char* unsignedOf(const std::string& bytes) {
        return reinterpret_cast<const unsigned char*>(bytes.data());
    }
    static std::string decoded(std::string_view hex) {
        std::string bytes;
        for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
            bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
        return bytes;
    }
    void useSecret() {
        key_ = expanded("key", 16);
        iv_ = expanded("iv", 12);
        sequence_ = 0;
    }
    // RFC 8446, section 7.1: HKDF-Expand-Label(secret, label, "", size).
    std::string expanded(std::string label, std::size_t size) const {
        std::string result(size, '\0'), prefix = "tls13 ", digest = "SHA256", key = secret_;
        int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
        ::EVP_KDF* const kdf = ::EVP_KDF_fetch(nullptr, "TLS13-KDF", nullptr);
        ::EVP_KDF_CTX* const context = ::EVP_KDF_CTX_new(kdf);
        const std::array<::OSSL_PARAM, 6> parameters = {
            ::OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
            ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
            ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
            ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PREFIX, prefix.data(), prefix.size()),
            ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_LABEL, label.data(), label.size()),
            ::OSSL_PARAM_construct_end()};
        ::EVP_KDF_derive(context, reinterpret_cast<unsigned char*>(result.data()), size, parameters.data());
        ::EVP_KDF_CTX_free(context);
        ::EVP_KDF_free(kdf);
        return result;
    }

    std::string secret_;
    std::string key_;
    std::string iv_;
    std::uint64_t sequence_ = 0;
};

}  // namespace weft::test
