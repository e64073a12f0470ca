// curl and ab as clients of the HTTP server example.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "peers/peer.hpp"
#include "support/pattern.hpp"

namespace weft::test {
namespace {

class Peers : public ::testing::Test {
  protected:
    std::string url(const std::string& target) const { return "http://" + address_.toString() + target; }
    void stop() {
        EXPECT_EQ(server_.stop(), 0);
        EXPECT_EQ(server_.complaints(), "");
    }

    Program server_{"http_server", {"--listen", "127.0.0.1:0", "--carriers", "2"}};
    SocketAddress address_ = server_.listening();
};

// A file that disappears with it.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& bytes) {
        const int file = ::mkstemp(path_.data());
        EXPECT_GE(file, 0);
        ::close(file);
        std::ofstream(path_, std::ios::binary) << bytes;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_ = (std::filesystem::temp_directory_path() / "weft-peers-XXXXXX").string();
};

struct Curl : Peers {
    // The output, then the status, the HTTP version and the number of connections that each transfer opened.
    static std::string run(std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"-sS", "-w", "|%{http_code} %{http_version} %{num_connects}\n"});
        return outputOf("curl", std::move(flags));
    }
};

TEST_F(Curl, KeepsItsConnection) {
    NEEDS_PEER("curl");
    EXPECT_EQ(run({url("/plaintext"), url("/fiber"), url("/sleep?ms=1"), url("/absent")}),
              "Hello, World!|200 1.1 1\nHello, World!|200 1.1 0\nslept 1 ms\n|200 1.1 0\n404 Not Found\n|404 1.1 0\n");
    stop();
}

TEST_F(Curl, SpeaksHttp10AndHead) {
    NEEDS_PEER("curl");
    EXPECT_EQ(run({"--http1.0", url("/plaintext")}), "Hello, World!|200 1.1 1\n");
    const std::string head = run({"-I", url("/plaintext")});
    EXPECT_NE(head.find("Content-Length: 13\r\n"), std::string::npos) << head;
    EXPECT_NE(head.find("\r\n\r\n|200 1.1 1\n"), std::string::npos) << head;
    stop();
}

TEST_F(Curl, GetsHttp11WhenItOffersHttp2) {
    NEEDS_PEER("curl");
    EXPECT_EQ(run({"--http2", url("/plaintext")}), "Hello, World!|200 1.1 1\n");
    stop();
}

TEST_F(Curl, SendsLargeBodiesAfterAskingAndInChunks) {
    NEEDS_PEER("curl");
    const std::string body = pattern(900'000);
    const TemporaryFile file(body);
    for (const char* header : {"Expect: 100-continue", "Transfer-Encoding: chunked", "Expect:"}) {
        EXPECT_TRUE(run({"-H", header, "--data-binary", "@" + file.path(), url("/echo")}) == body + "|200 1.1 1\n")
            << header;
    }
    stop();
}

TEST_F(Curl, IsToldThatABodyIsTooLarge) {
    NEEDS_PEER("curl");
    const TemporaryFile file(pattern(2'000'000));
    const std::string said = run({"-o", "/dev/null", "--data-binary", "@" + file.path(), url("/echo")});
    EXPECT_EQ(said, "|413 1.1 1\n");
    stop();
}

struct ApacheBench : Peers, ::testing::WithParamInterface<const char*> {};

TEST_P(ApacheBench, GetsEveryAnswer) {
    NEEDS_PEER("ab");
    std::istringstream words(GetParam());
    std::vector<std::string> flags{"-q", "-n", "2000", "-c", "32"};
    std::string target;
    for (std::string word; words >> word;) word.front() == '-' ? flags.push_back(word) : void(target = word);
    flags.push_back(url(target));
    const std::string said = outputOf("ab", flags);
    EXPECT_NE(said.find("Complete requests:      2000\n"), std::string::npos) << said;
    EXPECT_NE(said.find("Failed requests:        0\n"), std::string::npos) << said;
    EXPECT_EQ(said.find("Non-2xx"), std::string::npos) << said;
    stop();
}

INSTANTIATE_TEST_SUITE_P(Requests, ApacheBench,
                         ::testing::Values("/plaintext", "-k /plaintext", "-k /fiber", "/sleep?ms=1"));

}  // namespace
}  // namespace weft::test
