// The facts of a peer's certificate.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certificates.hpp"
#include "error_queue.hpp"

namespace weft::detail {

namespace {

using Names = std::unique_ptr<::GENERAL_NAMES, Releases<&::GENERAL_NAMES_free>>;

std::string addressText(const ::ASN1_OCTET_STRING* bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ::ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
    if (family == AF_INET6 && ::ASN1_STRING_length(bytes) != 16) return {};
    return ::inet_ntop(family, ::ASN1_STRING_get0_data(bytes), text.data(), text.size()) != nullptr ? text.data() : "";
}

// Empty: not told.
std::string textOf(const ::GENERAL_NAME& name) {
    const auto plain = [](const char* kind, const ::ASN1_IA5STRING* value) {
        const std::string text(reinterpret_cast<const char*>(::ASN1_STRING_get0_data(value)),
                               static_cast<std::size_t>(::ASN1_STRING_length(value)));
        const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
        return printable ? kind + text : std::string();
    };
    switch (name.type) {
        case GEN_DNS: return plain("DNS:", name.d.dNSName);
        case GEN_EMAIL: return plain("email:", name.d.rfc822Name);
        case GEN_URI: return plain("URI:", name.d.uniformResourceIdentifier);
        case GEN_IPADD: {
            const std::string address = addressText(name.d.iPAddress);
            return address.empty() ? address : "IP:" + address;
        }
        default: return {};
    }
}

std::vector<std::string> namesOf(const ::X509& certificate) {
    std::vector<std::string> all;
    const Names names(
        static_cast<::GENERAL_NAMES*>(::X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        std::string text = textOf(*sk_GENERAL_NAME_value(names.get(), i));
        if (!text.empty()) all.push_back(std::move(text));
    }
    return all;
}

std::string fingerprintOf(const ::X509& certificate) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (::X509_digest(&certificate, ::EVP_sha256(), digest.data(), &size) != 1) throw std::bad_alloc();
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", digest[i]);
        text += digits.data();
    }
    return text;
}

std::chrono::system_clock::time_point timeOf(const ::ASN1_TIME* time) {
    std::tm parts{};
    if (::ASN1_TIME_to_tm(time, &parts) != 1) return {};
    using Time = std::chrono::system_clock::time_point;
    const std::chrono::seconds since(::timegm(&parts));
    if (since >= std::chrono::floor<std::chrono::seconds>(Time::max().time_since_epoch())) return Time::max();
    if (since <= std::chrono::ceil<std::chrono::seconds>(Time::min().time_since_epoch())) return Time::min();
    return Time(since);
}

std::string pemOf(const ::X509& certificate) {
    const BioPointer bio(::BIO_new(::BIO_s_mem()));
    if (!bio || ::PEM_write_bio_X509(bio.get(), &certificate) != 1) throw std::bad_alloc();
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

}  // namespace

PeerCertificate peerCertificate(const ::X509& certificate, const STACK_OF(X509) * chain) {
    clearErrors();
    PeerCertificate::Facts facts;
    facts.subject = nameText(::X509_get_subject_name(&certificate));
    facts.issuer = nameText(::X509_get_issuer_name(&certificate));
    facts.names = namesOf(certificate);
    facts.fingerprint = fingerprintOf(certificate);
    facts.validFrom = timeOf(::X509_get0_notBefore(&certificate));
    facts.validUntil = timeOf(::X509_get0_notAfter(&certificate));
    for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i)
        facts.chain.push_back(pemOf(*sk_X509_value(chain, i)));
    if (facts.chain.empty()) facts.chain.push_back(pemOf(certificate));
    clearErrors();
    return PeerCertificate(std::move(facts));
}

}  // namespace weft::detail
