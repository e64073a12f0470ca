// The programs of the guide to TLS, with certificates of the test's own, and curl.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include "examples/program.hpp"
#include "tls/certificates.hpp"

#if WEFT_WITH_TLS

namespace weft::test {
namespace {

class TlsGuide : public ::testing::Test {
  protected:
    TlsGuide() { std::filesystem::create_directory(directory_); }
    ~TlsGuide() override { std::filesystem::remove_all(directory_); }

    void write(const char* name, const std::string& text) const { std::ofstream(path(name)) << text; }
    std::string path(const char* name) const { return (directory_ / name).string(); }
    void writeIdentity(const std::string& subject) const {
        const Identity identity = authority_.issue({.subject = subject});
        write("server.crt", identity.certificate);
        write("server.key", identity.key);
    }
    // Of the guide's client.
    std::string answerOf(const SocketAddress& server) const {
        Program client("docs/tls_client", {"https://localhost:" + std::to_string(server.port()) + "/", path("ca.crt")});
        const int status = client.exitStatus();
        return status == 0 ? client.output() : client.errors();
    }
    static int run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()); }

    const Authority authority_;
    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("weft-tls-guide-" + std::to_string(::getpid()));
};

TEST_F(TlsGuide, TheServerServesTheClientAndCurl) {
    write("ca.crt", authority_.certificate());
    writeIdentity("localhost");
    Program server("docs/tls_server", {"127.0.0.1:0", path("server.crt"), path("server.key")});
    const SocketAddress address = server.listening();
    EXPECT_EQ(answerOf(address), "hello over TLSv1.3\n");
    if (run("curl --version") == 0) {
        const std::string url = " https://localhost:" + std::to_string(address.port()) + "/";
        EXPECT_EQ(run("curl -sSf --cacert " + path("ca.crt") + url), 0);
        EXPECT_EQ(run("curl -sSf --tls-max 1.2 --cacert " + path("ca.crt") + url), 0);
        EXPECT_NE(run("curl -sSf" + url), 0) << "an authority that is not trusted";
    }
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsGuide, AHangUpReadsTheFilesAgainAndABrokenOneChangesNothing) {
    write("ca.crt", authority_.certificate());
    writeIdentity("localhost");
    Program server("docs/tls_server", {"127.0.0.1:0", path("server.crt"), path("server.key")});
    const SocketAddress address = server.listening();
    write("server.key", "broken");
    server.signal(SIGHUP);
    const std::string complaint = server.errorLine();
    EXPECT_NE(complaint.find("server.key': has no private key"), std::string::npos) << complaint;
    EXPECT_EQ(answerOf(address), "hello over TLSv1.3\n");
    const Authority other("Other CA");
    const Identity foreign = other.issue();
    write("server.crt", foreign.certificate);
    write("server.key", foreign.key);
    server.signal(SIGHUP);
    std::string answer;
    for (int tries = 0; tries < 500 && answer.find("not signed by a trusted authority") == std::string::npos; ++tries)
        answer = answerOf(address);
    EXPECT_NE(answer.find("not signed by a trusted authority"), std::string::npos) << answer;
    EXPECT_EQ(server.stop(), 0);
}

TEST_F(TlsGuide, AWrongFileIsOneLineAtTheStart) {
    writeIdentity("localhost");
    Program server("docs/tls_server", {"127.0.0.1:0", path("server.crt"), path("missing.key")});
    EXPECT_EQ(server.exitStatus(), 2);
    EXPECT_EQ(server.errors().find("tls_server: SslServerOptions::key '" + path("missing.key") + "': cannot be read"),
              0u)
        << server.errors();
}

TEST_F(TlsGuide, TheServerOfFibersEchoes) {
    writeIdentity("localhost");
    write("ca.crt", authority_.certificate());
    Program server("docs/tls_echo", {"127.0.0.1:0", path("server.crt"), path("server.key")});
    const std::string port = std::to_string(server.listening().port());
    ::SSL_CTX* const context = ::SSL_CTX_new(::TLS_client_method());
    ::BIO* const client = ::BIO_new_ssl_connect(context);
    BIO_set_conn_hostname(client, ("localhost:" + port).c_str());
    std::string echo(5, '?');
    EXPECT_EQ(::BIO_write(client, "hello", 5), 5);
    EXPECT_EQ(::BIO_read(client, echo.data(), 5), 5);
    EXPECT_EQ(echo, "hello");
    server.signal(SIGTERM);
    EXPECT_EQ(::BIO_read(client, echo.data(), 5), 0);  // the drain
    ::BIO_free_all(client);
    ::SSL_CTX_free(context);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

}  // namespace
}  // namespace weft::test

#endif
