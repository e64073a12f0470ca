// SslContext: what it accepts, and the one error for each wrong input.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tls/engine_pair.hpp"

namespace weft::test {
namespace {

// The error's text; empty: there was none.
std::string errorOf(const std::function<void()>& build) {
    try {
        build();
    } catch (const ConfigurationError& error) {
        return error.what();
    }
    return {};
}
std::string errorOf(const SslServerOptions& options) {
    return errorOf([&] { SslContext::server(options); });
}
std::string errorOf(const SslClientOptions& options) {
    return errorOf([&] { SslContext::client(options); });
}

class SslContextFiles : public ::testing::Test {
  protected:
    SslContextFiles() : folder_(std::filesystem::temp_directory_path() / ("weft_tls_" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~SslContextFiles() override { std::filesystem::remove_all(folder_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }
    std::string folder() const { return folder_; }

  private:
    const std::filesystem::path folder_;
};

TEST_F(SslContextFiles, FilesAndTextsAreAccepted) {
    const std::string certificate = write("server.pem", testIdentity().certificate),
                      key = write("server.key", testIdentity().key);
    SslServerOptions options;
    options.certificate = certificate;
    options.key = key.c_str();
    EXPECT_EQ(errorOf(options), "");
    EXPECT_EQ(errorOf(serverOptions()), "");
    EXPECT_TRUE(SslContext::server(options).isServer());
    EXPECT_FALSE(SslContext::client().isServer());
}

TEST_F(SslContextFiles, AFileIsReadOnce) {
    const std::string certificate = write("server.pem", testIdentity().certificate);
    SslServerOptions options = serverOptions();
    options.certificate = certificate;
    const SslContext context = SslContext::server(options);
    write("server.pem", "garbage");
    EnginePair pair(context, SslContext::client(clientOptions()));
    pair.run();
    EXPECT_TRUE(pair.client.engine.handshakeDone());
}

TEST_F(SslContextFiles, AFileThatCannotBeReadIsNamed) {
    SslServerOptions options = serverOptions();
    const auto withCertificate = [&](PemSource source) {
        options.certificate = std::move(source);
        return errorOf(options);
    };
    EXPECT_EQ(withCertificate({}),
              "SslServerOptions::certificate: not given; accepted: the name of a PEM file, or PemSource::text()");
    EXPECT_EQ(withCertificate(static_cast<const char*>(nullptr)),
              "SslServerOptions::certificate '': the file name is empty or null");
    EXPECT_EQ(withCertificate(""), "SslServerOptions::certificate '': the file name is empty or null");
    const std::string missing = folder() + "/missing.pem";
    EXPECT_EQ(withCertificate(missing),
              "SslServerOptions::certificate '" + missing + "': cannot be read: No such file or directory");
    EXPECT_EQ(withCertificate(folder()),
              "SslServerOptions::certificate '" + folder() + "': cannot be read: Is a directory");
    const std::string empty = write("empty.pem", "");
    EXPECT_EQ(withCertificate(empty), "SslServerOptions::certificate '" + empty + "': the file is empty");
    const std::string text = write("text.pem", "Dear Sir or Madam,\n");
    EXPECT_EQ(withCertificate(text),
              "SslServerOptions::certificate '" + text + "': has no certificate; it has no PEM block");
}

TEST(SslContext, AKeyInPlaceOfACertificateAndTheOtherWayRound) {
    SslServerOptions options = serverOptions();
    options.certificate = PemSource::text(testIdentity().key);
    EXPECT_EQ(errorOf(options), "SslServerOptions::certificate: has no certificate; it has PRIVATE KEY");
    options = serverOptions();
    options.key = PemSource::text(testIdentity().certificate);
    EXPECT_EQ(errorOf(options), "SslServerOptions::key: has no private key; it has CERTIFICATE");
}

TEST(SslContext, ABrokenCertificateIsCounted) {
    SslServerOptions options = serverOptions();
    std::string broken = testIdentity().certificate;
    broken[200] = broken[200] == 'A' ? 'B' : 'A';
    broken.replace(broken.find('\n') + 1, 4, "AAAA");
    options.certificate = PemSource::text(testIdentity().certificate + broken);
    EXPECT_EQ(errorOf(options).find("SslServerOptions::certificate: certificate 2 cannot be decoded: "), 0u)
        << errorOf(options);
}

TEST(SslContext, AKeyOfAnotherCertificateIsRefused) {
    SslServerOptions options = serverOptions();
    options.key = PemSource::text(testAuthority().issue().key);
    EXPECT_EQ(errorOf(options),
              "SslServerOptions::certificate: certificate 1 (CN = localhost) does not belong to SslServerOptions::key; "
              "give the key with which the certificate was requested");
}

TEST(SslContext, EncryptedKeysNeedTheirPassword) {
    SslServerOptions options = serverOptions();
    options.key = PemSource::text(Authority::encrypted(testIdentity().key, "open sesame"));
    EXPECT_EQ(errorOf(options), "SslServerOptions::key: the key is encrypted: give keyPassword");
    options.keyPassword = "open barley";
    EXPECT_EQ(errorOf(options).find("SslServerOptions::key: the key cannot be decrypted with keyPassword: "), 0u)
        << errorOf(options);
    options.keyPassword = "open sesame";
    EXPECT_EQ(errorOf(options), "");
}

TEST(SslContext, AWrongOrderOfTheChainIsRefused) {
    const Authority between("Intermediate CA", testAuthority());
    const Identity identity = between.issue();
    SslServerOptions options = serverOptions(identity);
    options.certificate = PemSource::text(between.certificate() + identity.certificate);
    EXPECT_EQ(errorOf(options), "SslServerOptions::certificate: the key belongs to certificate 2 (CN = localhost), "
                                "which must be the first one");
    options.certificate = PemSource::text(identity.certificate + testAuthority().certificate() + between.certificate());
    EXPECT_EQ(
        errorOf(options),
        "SslServerOptions::certificate: certificate 2 (CN = Test CA) has not signed certificate 1 (CN = localhost); "
        "order: the server's, then each one that signed the one before it");
    options.certificate = PemSource::text(identity.certificate + between.certificate() + testAuthority().certificate());
    EXPECT_EQ(errorOf(options), "");
}

TEST(SslContext, CertificatesThatAreNotValidNowAreRefused) {
    SslServerOptions options = serverOptions(testAuthority().issue({.fromSeconds = -7200, .untilSeconds = -3600}));
    EXPECT_NE(errorOf(options).find("certificate 1 (CN = localhost) expired on "), std::string::npos)
        << errorOf(options);
    options = serverOptions(testAuthority().issue({.fromSeconds = 3600}));
    EXPECT_NE(errorOf(options).find("certificate 1 (CN = localhost) is not valid before "), std::string::npos)
        << errorOf(options);
}

TEST(SslContext, AWeakKeyIsRefused) {
    const SslServerOptions options = serverOptions(testAuthority().issue({.rsa = true, .rsaBits = 1024}));
    EXPECT_EQ(errorOf(options), "SslServerOptions::certificate: libssl does not accept it: ee key too small");
}

TEST(SslContext, EachCipherMustExist) {
    SslServerOptions options = serverOptions();
    for (const char* const ciphers :
         {"ECDHE-ECDSA-AES128-GCM-SHA256:TYPO", ":", "HIGH", "ECDHE-ECDSA-AES128-GCM-SHA256:", "TLS_AES_128_GCM_SHA256",
          "ADH-AES128-GCM-SHA256"}) {
        options.ciphers = ciphers;
        EXPECT_NE(errorOf(options).find("is no cipher of TLS 1.2, or too weak; accepted: "), std::string::npos)
            << ciphers << ": " << errorOf(options);
    }
    options.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
    EXPECT_EQ(errorOf(options), "");
    options.profile = SslProfile::modern;
    EXPECT_EQ(errorOf(options),
              "SslServerOptions::ciphers: are those of TLS 1.2, which SslProfile::modern does not accept");
}

TEST(SslContext, ApplicationProtocolsHaveALength) {
    SslServerOptions options = serverOptions();
    options.applicationProtocols = {"h2", ""};
    EXPECT_EQ(errorOf(options), "SslServerOptions::applicationProtocols: '' has 0 bytes; accepted: 1 to 255");
    options.applicationProtocols = {std::string(256, 'a')};
    EXPECT_NE(errorOf(options).find("has 256 bytes; accepted: 1 to 255"), std::string::npos);
    options.applicationProtocols = {std::string(255, 'a')};
    EXPECT_EQ(errorOf(options), "");
    options.applicationProtocols.assign(300, std::string(255, 'a'));
    EXPECT_NE(errorOf(options).find("are longer than 65,535 bytes together"), std::string::npos);
}

TEST(SslContext, OptionsThatContradictEachOther) {
    SslServerOptions options = serverOptions();
    options.trust = PemSource::text(testAuthority().certificate());
    EXPECT_EQ(errorOf(options), "SslServerOptions::trust: is for certificates of clients: set clientAuth, too");
    SslClientOptions asks = clientOptions();
    asks.insecureWithoutVerification = true;
    EXPECT_EQ(errorOf(asks),
              "SslClientOptions::trust: has no effect with insecureWithoutVerification: leave out one of them");
    asks = clientOptions();
    asks.key = PemSource::text(testIdentity().key);
    EXPECT_EQ(errorOf(asks),
              "SslClientOptions::certificate: not given; accepted: the name of a PEM file, or PemSource::text()");
}

TEST_F(SslContextFiles, TrustWithoutACertificateIsRefused) {
    SslClientOptions options;
    options.trust = write("none.pem", "# no authority\n");
    EXPECT_EQ(errorOf(options),
              "SslClientOptions::trust '" + folder() + "/none.pem': has no certificate; it has no PEM block");
    options.trust = "";
    EXPECT_EQ(errorOf(options), "SslClientOptions::trust '': the file name is empty or null");
}

TEST(SslContext, AnErrorLeavesNothingInLibsslsQueue) {
    SslServerOptions options = serverOptions();
    options.certificate = PemSource::text(testIdentity().key);
    EXPECT_NE(errorOf(options), "");
    EnginePair pair;
    pair.run();
    EXPECT_TRUE(pair.server.engine.handshakeDone());
}

}  // namespace
}  // namespace weft::test
