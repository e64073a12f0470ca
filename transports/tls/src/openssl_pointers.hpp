// Owners of OpenSSL's objects.
#pragma once

#include <memory>
#include <type_traits>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace weft::detail {

template <auto release>
struct Releases {
    template <class T>
    void operator()(T* object) const noexcept {
        release(object);
    }
};

using BioPointer = std::unique_ptr<::BIO, Releases<&::BIO_free_all>>;
using KeyPointer = std::unique_ptr<::EVP_PKEY, Releases<&::EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<::X509, Releases<&::X509_free>>;
using CrlPointer = std::unique_ptr<::X509_CRL, Releases<&::X509_CRL_free>>;
using SessionPointer = std::unique_ptr<::SSL_SESSION, Releases<&::SSL_SESSION_free>>;
using SslContextPointer = std::unique_ptr<::SSL_CTX, Releases<&::SSL_CTX_free>>;

}  // namespace weft::detail
