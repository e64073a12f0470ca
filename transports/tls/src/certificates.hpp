// Certificates and keys from PEM data, with an error for each fault that libssl would accept or misname.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/pipeline/ssl_session.hpp>
#include <weft/tls/ssl_context.hpp>

#include "openssl_pointers.hpp"

namespace weft::detail {

// PEM data that has been read, and how errors name it.
struct PemText {
    std::string text;
    std::string name;  // "SslServerOptions::key 'server.key'"
};

// `option` is the option's name, for errors. Throws ConfigurationError, as do the others.
PemText readPem(const PemSource& source, std::string_view option);

// All certificates, one or more.
std::vector<CertificatePointer> certificatesIn(const PemText& pem);

// All lists of revoked certificates, one or more.
std::vector<CrlPointer> revocationsIn(const PemText& pem);

// The private key.
KeyPointer keyIn(const PemText& pem, const std::string& password);

// That the first certificate belongs to the key, that each is signed by the next, and that all are valid now.
void checkChain(const std::vector<CertificatePointer>& chain, const PemText& pem, const ::EVP_PKEY& key,
                const PemText& keyPem);

// On one line: "CN = example.com, O = Example".
std::string nameText(const ::X509_NAME* name);
// ... the subject's.
std::string subjectOf(const ::X509& certificate);

// `chain`: the verified one, which begins with the certificate; may be null.
PeerCertificate peerCertificate(const ::X509& certificate, const STACK_OF(X509) * chain);

}  // namespace weft::detail
