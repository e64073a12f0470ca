#include "certificates.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "error_queue.hpp"

namespace weft::detail {

namespace {

[[noreturn]] void refuse(const PemText& pem, const std::string& fault) {
    throw ConfigurationError(pem.name + ": " + fault);
}

BioPointer reading(const std::string& text) {
    BioPointer bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    if (!bio) throw std::bad_alloc();
    return bio;
}

std::string printed(const ::ASN1_TIME* time) {
    const BioPointer bio(::BIO_new(::BIO_s_mem()));
    if (!bio || ::ASN1_TIME_print(bio.get(), time) != 1) return "?";
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

std::string place(std::size_t index) {
    return "certificate " + std::to_string(index + 1);
}

// The names of its PEM blocks, to say what is there in place of what is wanted.
std::string blocksIn(const std::string& text) {
    constexpr std::string_view begin = "-----BEGIN ";
    std::string all;
    for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
        at += begin.size();
        const std::size_t end = text.find("-----", at);
        if (end == std::string::npos || end - at > 40) break;
        if (!all.empty()) all += ", ";
        all += text.substr(at, end - at);
    }
    return all.empty() ? "no PEM block" : all;
}

// Copies the password; libssl calls it for an encrypted key.
int password(char* into, int size, int, void* given) {
    const std::string& text = *static_cast<const std::string*>(given);
    if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
    std::memcpy(into, text.data(), text.size());
    return static_cast<int>(text.size());
}

}  // namespace

PemText readPem(const PemSource& source, std::string_view option) {
    if (!source.isFile()) {
        PemText pem{source.value(), std::string(option)};
        if (!source.given()) refuse(pem, "not given; accepted: the name of a PEM file, or PemSource::text()");
        return pem;
    }
    PemText pem{{}, std::string(option) + " '" + source.value() + "'"};
    if (source.value().empty()) refuse(pem, "the file name is empty or null");
    errno = 0;
    std::ifstream file(source.value(), std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        if (errno == 0) refuse(pem, "the file is empty");
        refuse(pem, "cannot be read: " + std::generic_category().message(errno));
    }
    pem.text = text.str();
    return pem;
}

std::vector<CertificatePointer> certificatesIn(const PemText& pem) {
    clearErrors();
    const BioPointer bio = reading(pem.text);
    std::vector<CertificatePointer> all;
    while (CertificatePointer next{::PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr)})
        all.push_back(std::move(next));
    const bool atEnd = isEndOfPem();
    const std::string errors = takeErrors().text;
    if (all.empty() && atEnd) refuse(pem, "has no certificate; it has " + blocksIn(pem.text));
    if (!atEnd) refuse(pem, place(all.size()) + " cannot be decoded: " + errors);
    if (blocksIn(pem.text).find("X509 CRL") != std::string::npos)
        refuse(pem, "has a revocation list, which would have no effect here: give it as `revoked`");
    return all;
}

std::vector<CrlPointer> revocationsIn(const PemText& pem) {
    clearErrors();
    const BioPointer bio = reading(pem.text);
    std::vector<CrlPointer> all;
    while (CrlPointer next{::PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)})
        all.push_back(std::move(next));
    const bool atEnd = isEndOfPem();
    const std::string errors = takeErrors().text;
    if (all.empty() && atEnd) refuse(pem, "has no revocation list (X509 CRL); it has " + blocksIn(pem.text));
    if (!atEnd) refuse(pem, "list " + std::to_string(all.size() + 1) + " cannot be decoded: " + errors);
    if (blocksIn(pem.text).find("CERTIFICATE") != std::string::npos)
        refuse(pem, "has a certificate, which would have no effect here: give it as `trust`");
    for (const CrlPointer& list : all) {
        const ::ASN1_TIME* const end = ::X509_CRL_get0_nextUpdate(list.get());
        if (end != nullptr && ::X509_cmp_current_time(end) < 0)
            refuse(pem, "the list of " + nameText(::X509_CRL_get_issuer(list.get())) + " was to be replaced on " +
                            printed(end) + "; get the new one");
    }
    return all;
}

KeyPointer keyIn(const PemText& pem, const std::string& given) {
    clearErrors();
    const BioPointer bio = reading(pem.text);
    KeyPointer key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, &password, const_cast<std::string*>(&given)));
    if (key) return key;
    const std::string errors = takeErrors().text;
    const std::string blocks = blocksIn(pem.text);
    if (blocks.find("PRIVATE KEY") == std::string::npos) refuse(pem, "has no private key; it has " + blocks);
    const bool encrypted = pem.text.find("ENCRYPTED") != std::string::npos;
    if (encrypted && given.empty()) refuse(pem, "the key is encrypted: give keyPassword");
    if (encrypted) refuse(pem, "the key cannot be decrypted with keyPassword: " + errors);
    refuse(pem, "the key cannot be decoded: " + errors);
}

std::string nameText(const ::X509_NAME* name) {
    const BioPointer bio(::BIO_new(::BIO_s_mem()));
    if (!bio || ::X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_ONELINE) < 0) throw std::bad_alloc();
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

std::string subjectOf(const ::X509& certificate) {
    return nameText(::X509_get_subject_name(&certificate));
}

namespace {

void checkKey(const std::vector<CertificatePointer>& chain, const PemText& pem, const ::EVP_PKEY& key,
              const PemText& keyPem) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
        if (::X509_check_private_key(chain[i].get(), &key) != 1) continue;
        if (i == 0) return;
        refuse(pem, "the key belongs to " + place(i) + " (" + subjectOf(*chain[i]) + "), which must be the first one");
    }
    refuse(pem, place(0) + " (" + subjectOf(*chain[0]) + ") does not belong to " + keyPem.name +
                    "; give the key with which the certificate was requested");
}

void checkTimes(const ::X509& certificate, const PemText& pem, std::size_t index) {
    const std::string named = place(index) + " (" + subjectOf(certificate) + ")";
    if (::X509_cmp_current_time(::X509_get0_notAfter(&certificate)) < 0)
        refuse(pem, named + " expired on " + printed(::X509_get0_notAfter(&certificate)) + "; get a new one");
    if (::X509_cmp_current_time(::X509_get0_notBefore(&certificate)) > 0)
        refuse(pem, named + " is not valid before " + printed(::X509_get0_notBefore(&certificate)));
}

}  // namespace

void checkChain(const std::vector<CertificatePointer>& chain, const PemText& pem, const ::EVP_PKEY& key,
                const PemText& keyPem) {
    checkKey(chain, pem, key, keyPem);
    for (std::size_t i = 0; i < chain.size(); ++i) {
        checkTimes(*chain[i], pem, i);
        if (i == 0 || ::X509_check_issued(chain[i].get(), chain[i - 1].get()) == X509_V_OK) continue;
        refuse(pem, place(i) + " (" + subjectOf(*chain[i]) + ") has not signed " + place(i - 1) + " (" +
                        subjectOf(*chain[i - 1]) +
                        "); order: the server's, then each one that signed the one before it");
    }
    clearErrors();
}

}  // namespace weft::detail
