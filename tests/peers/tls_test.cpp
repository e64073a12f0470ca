// TLS with other libraries: curl, OpenSSL's, GnuTLS's, Go's and Java's clients at the HTTP server example, nginx in
// front of it, and behind the reverse proxy.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "examples/http_client.hpp"
#include "peers/nginx.hpp"
#include "peers/peer.hpp"
#include "tls/certificates.hpp"

#if WEFT_WITH_TLS

namespace weft::test {
namespace {

class TlsPeers : public ::testing::Test {
  protected:
    TlsPeers() {
        std::filesystem::create_directory(directory_);
        write("ca.crt", authority_.certificate());
        writeIdentity("localhost");
    }
    ~TlsPeers() override { std::filesystem::remove_all(directory_); }

    void write(const char* name, const std::string& text) const { std::ofstream(path(name)) << text; }
    std::string path(const char* name) const { return (directory_ / name).string(); }
    void writeIdentity(const std::string& subject) const {
        const Identity identity = authority_.issue({.subject = subject});
        write("server.crt", identity.certificate);
        write("server.key", identity.key);
    }
    std::vector<std::string> flags(std::vector<std::string> others = {}) const {
        std::vector<std::string> all{"--listen",   "127.0.0.1:0",      "--tls-listen", "127.0.0.1:0",
                                     "--tls-cert", path("server.crt"), "--tls-key",    path("server.key")};
        all.insert(all.end(), others.begin(), others.end());
        return all;
    }
    // The second line of a server's output.
    static SocketAddress securePort(Program& server) {
        std::string line = server.outputLine();
        const std::string prefix = "listening on ", suffix = " for TLS";
        EXPECT_TRUE(line.starts_with(prefix) && line.ends_with(suffix)) << line << server.allErrors();
        return SocketAddress::parse(line.substr(prefix.size(), line.size() - prefix.size() - suffix.size()));
    }
    static std::string url(const SocketAddress& address, const std::string& target) {
        return "https://localhost:" + std::to_string(address.port()) + target;
    }
    struct Result {
        int status;
        std::string output;
    };
    static Result shell(const std::string& command) {
        Program program("/bin/sh", {"-c", command + " 2>&1"});
        Result result{program.exitStatus(), program.output()};
        result.output += program.errors();
        return result;
    }

    const Authority authority_;
    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("weft-tls-peers-" + std::to_string(::getpid()));
};

constexpr const char* request =
    "printf 'GET /plaintext HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | ";

TEST_F(TlsPeers, CurlInEachVersion) {
    NEEDS_PEER("curl");
    Program server("http_server", flags());
    const SocketAddress plain = server.listening(), secure = securePort(server);
    const std::string curl = "curl -sS --cacert " + path("ca.crt") + " ";
    for (const char* version : {"--tlsv1.2 --tls-max 1.2", "--tlsv1.3"}) {
        const Result one = shell(curl + version + " -w ' %{http_code} %{num_connects}\\n' " +
                                 url(secure, "/plaintext") + " " + url(secure, "/fiber"));
        EXPECT_EQ(one.status, 0) << one.output;
        EXPECT_EQ(one.output, "Hello, World! 200 1\nHello, World! 200 0\n");
    }
    EXPECT_NE(shell(curl + "--tls-max 1.1 " + url(secure, "/plaintext")).status, 0);
    EXPECT_NE(shell("curl -sS " + url(secure, "/plaintext")).status, 0) << "an authority that is not trusted";
    const std::string address = "127.0.0.1:" + std::to_string(secure.port());
    for (const char* method : {"GET", "DELETE", "PATCH"}) {
        const Result answer =
            shell(std::string("curl -sS -X ") + method + " -w '%{http_code}' http://" + address + "/");
        EXPECT_EQ(answer.output, "A plain HTTP request was sent to an HTTPS port.\n400") << method;
    }
    EXPECT_EQ(shell("curl -sS http://" + plain.toString() + "/plaintext").output, "Hello, World!");
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsPeers, AHangUpReadsTheCertificateAgain) {
    NEEDS_PEER("openssl");
    Program server("http_server", flags());
    server.listening();
    const SocketAddress secure = securePort(server);
    const auto subject = [&] {  // OpenSSL 3.0 prints "CN = localhost", 3.5 "CN=localhost"
        return shell("openssl s_client -connect localhost:" + std::to_string(secure.port()) +
                     " </dev/null | sed 's/ = /=/'")
            .output;
    };
    EXPECT_NE(subject().find("subject=CN=localhost"), std::string::npos) << subject();
    writeIdentity("renewed");
    server.signal(SIGHUP);
    std::string seen;
    for (int tries = 0; tries < 200 && seen.find("CN=renewed") == std::string::npos; ++tries) seen = subject();
    EXPECT_NE(seen.find("CN=renewed"), std::string::npos) << seen;
    write("server.crt", "broken");
    server.signal(SIGHUP);
    EXPECT_NE(server.errorLine().find(path("server.crt")), std::string::npos);
    EXPECT_NE(subject().find("CN=renewed"), std::string::npos);
    EXPECT_EQ(server.stop(), 0);
}

TEST_F(TlsPeers, OpensslsClient) {
    NEEDS_PEER("openssl");
    Program server("http_server", flags());
    server.listening();
    const std::string to = "openssl s_client -quiet -connect localhost:" + std::to_string(securePort(server).port()) +
                           " -CAfile " + path("ca.crt") + " -verify_return_error -verify_hostname localhost ";
    for (const char* choice :
         {"-tls1_2", "-tls1_3", "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256",
          "-tls1_3 -ciphersuites TLS_AES_256_GCM_SHA384", "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305",
          "-groups P-384", "-groups P-521:P-256", "-no_ticket"}) {
        const Result one = shell(request + to + choice);
        EXPECT_EQ(one.status, 0) << choice << one.output;
        EXPECT_NE(one.output.find("Hello, World!"), std::string::npos) << choice << one.output;
    }
    for (const char* refused : {"-tls1_1", "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", "-groups P-521"})
        EXPECT_NE(shell(request + to + refused).status, 0) << refused;
    const std::string session = path("session.pem");
    for (const char* version : {"-tls1_2 ", "-tls1_3 "}) {
        shell(request + to + version + "-sess_out " + session);
        const std::string again = "openssl s_client -ign_eof" + to.substr(to.find(" -connect"));
        const Result resumed = shell(request + again + version + "-sess_in " + session);
        EXPECT_NE(resumed.output.find("Reused, TLSv1"), std::string::npos) << resumed.output;
    }
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsPeers, GnutlssClient) {
    NEEDS_PEER("gnutls-cli");
    Program server("http_server", flags());
    server.listening();
    const std::string to = "gnutls-cli --x509cafile " + path("ca.crt") + " -p " +
                           std::to_string(securePort(server).port()) + " localhost ";
    for (const char* choice : {"--priority NORMAL:-VERS-ALL:+VERS-TLS1.2", "--priority NORMAL:-VERS-ALL:+VERS-TLS1.3",
                               "--priority NORMAL:-GROUP-ALL:+GROUP-SECP384R1", "-r"}) {
        const Result one = shell(request + to + choice);
        EXPECT_EQ(one.status, 0) << choice << one.output;
        EXPECT_NE(one.output.find("Hello, World!"), std::string::npos) << choice << one.output;
    }
    EXPECT_NE(shell(request + to + "--priority NORMAL:-VERS-ALL:+VERS-TLS1.1").status, 0);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsPeers, JavasClient) {
    NEEDS_PEER("java");
    Program server("http_server", flags());
    server.listening();
    const SocketAddress secure = securePort(server);
    for (const std::string version : {"TLSv1.2", "TLSv1.3"}) {
        const Result one = shell("java " WEFT_SOURCE_DIR "/tests/peers/TlsClient.java " + path("ca.crt") + " " +
                                 url(secure, "/plaintext") + " " + version);
        const std::string line = "200 " + version + " Hello, World!\n";
        EXPECT_EQ(one.output, line + line + line);
    }
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsPeers, GosClient) {
    NEEDS_PEER("go");
    Program server("http_server", flags());
    server.listening();
    const SocketAddress secure = securePort(server);
    for (const std::string version : {"1.2", "1.3"}) {
        const Result one = shell("go run " WEFT_SOURCE_DIR "/tests/peers/tls_client.go " + path("ca.crt") + " " +
                                 url(secure, "/plaintext") + " " + version);
        const std::string minor = version.substr(2);
        EXPECT_EQ(one.output, "200 " + minor + " false Hello, World!\n200 " + minor + " true Hello, World!\n200 " +
                                  minor + " true Hello, World!\n");
    }
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsPeers, NginxInFront) {
    NEEDS_PEER("nginx");
    Program server("http_server", flags());
    server.listening();
    const std::string port = std::to_string(securePort(server).port());
    const Nginx nginx(
        "location / { proxy_pass https://behind; proxy_http_version 1.1; proxy_set_header Connection '';\n"
        "proxy_ssl_verify on; proxy_ssl_trusted_certificate " +
            path("ca.crt") +
            ";\n"
            "proxy_ssl_name localhost; proxy_ssl_server_name on; proxy_ssl_protocols TLSv1.2 TLSv1.3; }\n",
        "upstream behind { server 127.0.0.1:" + port + "; keepalive 4; }\n");
    HttpClient client(nginx.address());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(client.get("/plaintext").body, "Hello, World!");
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST_F(TlsPeers, NginxBehindTheReverseProxy) {
    NEEDS_PEER("nginx");
    NEEDS_PEER("curl");
    const ReservedPort port;
    const Nginx nginx("", "server { listen " + port.address().toString() + " ssl; ssl_certificate " +
                              path("server.crt") + ";\nssl_certificate_key " + path("server.key") +
                              "; ssl_protocols TLSv1.2 TLSv1.3;\nlocation / { return 200 'from nginx\\n'; } }\n");
    const std::string upstream = url(port.address(), "");
    Program proxy("reverse_proxy", flags({"--upstream", upstream, "--upstream-ca", path("ca.crt")}));
    HttpClient client(proxy.listening());
    const SocketAddress secure = securePort(proxy);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(client.get("/").body, "from nginx\n");
    EXPECT_EQ(shell("curl -sS --cacert " + path("ca.crt") + " " + url(secure, "/")).output, "from nginx\n");
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
    Program distrusting("reverse_proxy", flags({"--upstream", upstream}));
    HttpClient other(distrusting.listening());
    EXPECT_EQ(other.get("/").status, 502);
}

TEST_F(TlsPeers, WrongFlagsAreOneLine) {
    const auto complaint = [](std::vector<std::string> flags) {
        Program program("http_server", std::move(flags));
        EXPECT_NE(program.exitStatus(), 0);
        return program.errors();
    };
    const std::string all = complaint({"--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0"});
    EXPECT_NE(all.find("--tls-cert"), std::string::npos) << all;
    write("server.key", "broken");
    const std::string broken = complaint(flags());
    EXPECT_NE(broken.find(path("server.key")), std::string::npos) << broken;
}

}  // namespace
}  // namespace weft::test

#endif
