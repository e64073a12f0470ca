// What the servers of the rig over TLS share: their flags, their answers, and a certificate of localhost that each
// makes for itself, signed by itself.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "canned_response.hpp"
#include "flags.hpp"

namespace weft::perf {

struct TlsFlags {
    static constexpr const char* usage = "[--rsa] [--body-bytes N]";

    explicit TlsFlags(Flags& flags)
        : rsa(flags.present("--rsa")),
          bodyBytes(static_cast<std::size_t>(flags.number("--body-bytes", 0, 1, 64 * 1024 * 1024))) {}
    bool rsa;               // the key: RSA-2048 in place of ECDSA P-256
    std::size_t bodyBytes;  // 0: "Hello, World!"
};

// A body as large as --body-bytes asks for.
inline std::string tlsBody(std::size_t bytes) {
    return bytes == 0 ? "Hello, World!" : std::string(bytes, 'x');
}

// The canned answer of a floor with such a body, in a block of many.
class TlsAnswers {
  public:
    explicit TlsAnswers(std::size_t bodyBytes) : answer_(cannedResponse) {
        if (bodyBytes > 0) {
            const std::string_view head = cannedResponse.substr(0, cannedResponse.find("Content-Length"));
            answer_ =
                std::string(head) + "Content-Length: " + std::to_string(bodyBytes) + "\r\n\r\n" + tlsBody(bodyBytes);
        }
        for (std::size_t size = 0; size < blockBytes; size += answer_.size()) block_ += answer_;
    }
    const std::string& answer() const { return answer_; }
    // The next bytes to send to a connection that is owed `bytes`; perhaps not all of them.
    std::string_view owed(std::size_t bytes) const {
        const std::size_t phase = (answer_.size() - bytes % answer_.size()) % answer_.size();
        return std::string_view(block_).substr(phase, std::min(bytes, block_.size() - phase));
    }

  private:
    static constexpr std::size_t blockBytes = 64 * 1024;
    std::string answer_;
    std::string block_;
};

struct TlsIdentity {
    std::string certificate;  // PEM
    std::string key;
};

inline TlsIdentity makeTlsIdentity(bool rsa) {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"),
                                                             &EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), &X509_free);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_set_version(certificate.get(), X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400);
    X509_NAME* const name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(certificate.get(), name);
    X509_set_pubkey(certificate.get(), key.get());
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    const auto text = [](auto write) {
        const std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), &BIO_free);
        write(memory.get());
        char* bytes = nullptr;
        const long size = BIO_get_mem_data(memory.get(), &bytes);
        return std::string(bytes, static_cast<std::size_t>(size));
    };
    return {text([&](BIO* to) { PEM_write_bio_X509(to, certificate.get()); }),
            text([&](BIO* to) { PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr); })};
}

}  // namespace weft::perf
