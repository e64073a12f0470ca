// Which transport a program uses where io_uring is forbidden, and what it logs about that.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/transports/transport.hpp>
#include <weft/transports/uring/uring_support.hpp>

#include "examples/http_client.hpp"
#include "examples/program.hpp"

namespace weft::test {
namespace {

const std::vector<std::string> forbidden{WEFT_WITHOUT_IO_URING};

Program httpServer(std::vector<std::string> flags, std::vector<std::string> launcher = {}) {
    flags.insert(flags.begin(), {"--listen", "127.0.0.1:0", "--carriers", "2"});
    return Program("http_server", std::move(flags), std::move(launcher));
}

void expectService(Program& server) {
    HttpClient client(server.listening());
    for (int requests = 0; requests < 10; ++requests) ASSERT_EQ(client.get("/plaintext").status, 200);
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class TransportChoice : public testing::Test {
  protected:
    void SetUp() override { ::unsetenv("WEFT_TRANSPORT"); }
};

TEST_F(TransportChoice, UnderASeccompFilterAutoServesOnEpollAndSaysWhyOnce) {
    Program server = httpServer({"--log-level", "info"}, forbidden);
    expectService(server);
    EXPECT_EQ(server.stop(), 0);
    const std::string reason = "event loops use epoll: io_uring is not available: io_uring_setup is not permitted";
    const std::size_t said = server.errors().find(reason);
    ASSERT_NE(said, std::string::npos) << server.errors();
    EXPECT_EQ(server.errors().find("io_uring is not available", said + reason.size()), std::string::npos)
        << server.errors();
}

TEST_F(TransportChoice, AutoIsIoUringWhereItIsAvailable) {
    const bool available = UringSupport::ofThisProcess().available();
    EXPECT_EQ(Transport::best(), available ? Transport::Kind::ioUring : Transport::Kind::epoll);
    EXPECT_TRUE(contains(Transport::explain(), available ? "auto: io_uring" : "auto: epoll")) << Transport::explain();
}

TEST_F(TransportChoice, UnderASeccompFilterIoUringFailsWithTheReason) {
    Program server = httpServer({"--transport", "io_uring"}, forbidden);
    EXPECT_EQ(server.exitStatus(), 1);
    EXPECT_TRUE(contains(server.errors(), "the transport io_uring is not available: io_uring_setup is not permitted"))
        << server.errors();
    EXPECT_EQ(server.output(), "");
}

TEST_F(TransportChoice, TheFlagExplainTransportPrintsTheReasons) {
    Program permitted = httpServer({"--explain-transport"});
    EXPECT_EQ(permitted.exitStatus(), 0);
    EXPECT_EQ(permitted.output(), Transport::explain() + "\n");
    Program refused = httpServer({"--explain-transport"}, forbidden);
    EXPECT_EQ(refused.exitStatus(), 0);
    EXPECT_TRUE(contains(refused.output(), "io_uring: not available: io_uring_setup is not permitted"))
        << refused.output();
    EXPECT_TRUE(contains(refused.output(), "auto: epoll")) << refused.output();
}

// Older kernels count a ring as locked memory.
TEST_F(TransportChoice, WithoutLockedMemoryItServesOrSaysWhy) {
    if (std::system("prlimit --memlock=0 setpriv --bounding-set -ipc_lock true 2>/dev/null") != 0)
        GTEST_SKIP() << "the right to lock memory cannot be given up here";
    const std::vector<std::string> launcher{"prlimit", "--memlock=0", "setpriv", "--bounding-set", "-ipc_lock"};
    Program explained = httpServer({"--explain-transport"}, launcher);
    EXPECT_EQ(explained.exitStatus(), 0);
    Program server = httpServer({"--transport", "io_uring"}, launcher);
    if (contains(explained.output(), "io_uring: available")) {
        expectService(server);
        EXPECT_EQ(server.stop(), 0);
    } else {
        EXPECT_EQ(server.exitStatus(), 1);
        EXPECT_TRUE(contains(server.errors(), "the transport io_uring is not available")) << server.errors();
    }
}

TEST_F(TransportChoice, ServesOnEachTransportThatIsAvailable) {
    Program epoll = httpServer({"--transport", "epoll"});
    expectService(epoll);
    EXPECT_EQ(epoll.stop(), 0);
    EXPECT_EQ(epoll.complaints(), "");
    if (!UringSupport::ofThisProcess().available()) GTEST_SKIP() << "io_uring is not permitted here";
    Program uring = httpServer({"--transport", "io_uring"});
    expectService(uring);
    EXPECT_EQ(uring.stop(), 0);
    EXPECT_EQ(uring.complaints(), "");
}

}  // namespace
}  // namespace weft::test
