// Certificates that a test makes for itself.
#pragma once

#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace weft::test {

// PEM texts.
struct Identity {
    std::string certificate;
    std::string key;
};

struct CertificateOptions {
    std::string subject = "localhost";
    std::string names = "DNS:localhost,IP:127.0.0.1";  // alternative names, as in openssl.cnf; empty: none
    long fromSeconds = -3600;                          // from now on
    long untilSeconds = 86'400;
    bool isAuthority = false;
    bool rsa = false;
    int rsaBits = 2048;
};

// Signs certificates; its own is signed by itself or by another.
class Authority {
  public:
    explicit Authority(const std::string& subject = "Test CA") {
        identity_ = make({.subject = subject, .names = "", .isAuthority = true}, nullptr);
    }
    Authority(const std::string& subject, const Authority& above) {
        identity_ = make({.subject = subject, .names = "", .isAuthority = true}, &above);
    }
    Identity issue(const CertificateOptions& options = {}) const { return make(options, this); }
    const std::string& certificate() const { return identity_.certificate; }

    // A list of revoked certificates, with this one; the next list comes in so many seconds.
    std::string revoking(const std::string& certificate, long nextSeconds = 3600) const {
        const std::unique_ptr<::X509_CRL, Releases<&::X509_CRL_free>> list(::X509_CRL_new());
        const Certificate own(::PEM_read_bio_X509(reading(identity_.certificate).get(), nullptr, nullptr, nullptr));
        const Certificate bad(::PEM_read_bio_X509(reading(certificate).get(), nullptr, nullptr, nullptr));
        const std::unique_ptr<::ASN1_TIME, Releases<&::ASN1_TIME_free>> now(
            ::ASN1_TIME_set(nullptr, std::time(nullptr) - 60));
        const std::unique_ptr<::ASN1_TIME, Releases<&::ASN1_TIME_free>> next(
            ::ASN1_TIME_set(nullptr, std::time(nullptr) + nextSeconds));
        ::X509_CRL_set_version(list.get(), 1);
        ::X509_CRL_set_issuer_name(list.get(), ::X509_get_subject_name(own.get()));
        ::X509_CRL_set1_lastUpdate(list.get(), now.get());
        ::X509_CRL_set1_nextUpdate(list.get(), next.get());
        ::X509_REVOKED* const entry = ::X509_REVOKED_new();
        ::X509_REVOKED_set_serialNumber(entry, ::X509_get_serialNumber(bad.get()));
        ::X509_REVOKED_set_revocationDate(entry, now.get());
        ::X509_CRL_add0_revoked(list.get(), entry);
        if (::X509_CRL_sign(list.get(), keyOf(identity_.key).get(), ::EVP_sha256()) == 0)
            throw std::runtime_error("signing failed");
        return written([&](::BIO* bio) { return ::PEM_write_bio_X509_CRL(bio, list.get()); });
    }

    static Identity selfSigned(const CertificateOptions& options) { return make(options, nullptr); }
    // With the key encrypted.
    static std::string encrypted(const std::string& key, std::string password) {
        const Key own = keyOf(key);
        return written([&](::BIO* bio) {
            return ::PEM_write_bio_PKCS8PrivateKey(bio, own.get(), ::EVP_aes_128_cbc(), password.data(),
                                                   static_cast<int>(password.size()), nullptr, nullptr);
        });
    }

  private:
    template <auto release>
    struct Releases {
        template <class T>
        void operator()(T* object) const {
            release(object);
        }
    };
    using Key = std::unique_ptr<::EVP_PKEY, Releases<&::EVP_PKEY_free>>;
    using Certificate = std::unique_ptr<::X509, Releases<&::X509_free>>;
    using Bio = std::unique_ptr<::BIO, Releases<&::BIO_free_all>>;

    template <class Write>
    static std::string written(Write write) {
        const Bio bio(::BIO_new(::BIO_s_mem()));
        if (write(bio.get()) != 1) throw std::runtime_error("writing PEM failed");
        char* text = nullptr;
        const long size = BIO_get_mem_data(bio.get(), &text);
        return {text, static_cast<std::size_t>(size)};
    }
    static Bio reading(const std::string& text) {
        return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    }
    static Key keyOf(const std::string& pem) {
        return Key(::PEM_read_bio_PrivateKey(reading(pem).get(), nullptr, nullptr, nullptr));
    }

    static Identity make(const CertificateOptions& options, const Authority* signer) {
        const Key key(options.rsa ? EVP_RSA_gen(static_cast<unsigned>(options.rsaBits)) : EVP_EC_gen("P-256"));
        const Certificate certificate(::X509_new());
        ::X509* const made = certificate.get();
        static long serial = 1000;
        ::X509_set_version(made, 2);
        ::ASN1_INTEGER_set(::X509_get_serialNumber(made), ++serial);
        ::X509_gmtime_adj(::X509_getm_notBefore(made), options.fromSeconds);
        ::X509_gmtime_adj(::X509_getm_notAfter(made), options.untilSeconds);
        ::X509_set_pubkey(made, key.get());
        ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(options.subject.c_str()), -1, -1, 0);
        const Certificate above(
            signer != nullptr ? ::PEM_read_bio_X509(reading(signer->certificate()).get(), nullptr, nullptr, nullptr)
                              : nullptr);
        ::X509* const issuer = above ? above.get() : made;
        ::X509_set_issuer_name(made, ::X509_get_subject_name(issuer));
        ::X509V3_CTX context;
        X509V3_set_ctx_nodb(&context);
        ::X509V3_set_ctx(&context, issuer, made, nullptr, nullptr, 0);
        add(made, context, NID_basic_constraints, options.isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE");
        if (options.isAuthority) add(made, context, NID_key_usage, "critical,keyCertSign,cRLSign");
        if (!options.names.empty()) add(made, context, NID_subject_alt_name, options.names.c_str());
        const Key signing = signer != nullptr ? keyOf(signer->identity_.key) : nullptr;
        if (::X509_sign(made, signing ? signing.get() : key.get(), ::EVP_sha256()) == 0)
            throw std::runtime_error("signing failed");
        return {written([&](::BIO* bio) { return ::PEM_write_bio_X509(bio, made); }), written([&](::BIO* bio) {
                    return ::PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                })};
    }
    static void add(::X509* made, ::X509V3_CTX& context, int kind, const char* value) {
        ::X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value);
        if (extension == nullptr || ::X509_add_ext(made, extension, -1) != 1)
            throw std::runtime_error("an extension is wrong");
        ::X509_EXTENSION_free(extension);
    }

    Identity identity_;
};

}  // namespace weft::test
