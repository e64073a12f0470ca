// External faults of a server process (docs/reference/faults.md): kills, stops, shortages, and failing system calls.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <weft/transports/uring/uring_support.hpp>

#include "examples/http_client.hpp"
#include "examples/program.hpp"
#include "support/sanitized.hpp"

namespace weft::test {
namespace {

const std::vector<std::string> twoCarriers{"--listen", "127.0.0.1:0", "--carriers", "2"};

Program httpServer(std::vector<std::string> launcher = {}) {
    return Program("http_server", twoCarriers, std::move(launcher));
}

// For faults of calls that only one transport makes.
Program httpServerOn(const char* transport, std::vector<std::string> launcher) {
    std::vector<std::string> flags = twoCarriers;
    flags.insert(flags.end(), {"--transport", transport});
    return Program("http_server", std::move(flags), std::move(launcher));
}

void expectService(HttpClient& client, const char* why) {
    for (const char* path : {"/plaintext", "/fiber"}) {
        const HttpAnswer answer = client.get(path);
        ASSERT_EQ(answer.status, 200) << why;
        ASSERT_EQ(answer.body, "Hello, World!") << why;
    }
}

// The last connections may still be in a backlog or closing.
void expectDescriptors(const Program& server, std::size_t count, HttpClient& client) {
    const auto timeout = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs);
    while (server.descriptors() != count && std::chrono::steady_clock::now() < timeout)
        expectService(client, "connections come or go");
    EXPECT_EQ(server.descriptors(), count);
}

// A launcher that makes the named system calls of the program fail.
std::vector<std::string> failing(const std::string& what) {
    return {"strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + what};
}

// Why faults cannot be injected here; empty when they can.
const std::string& obstacle() {
    static const std::string found = []() -> std::string {
#ifdef WEFT_SANITIZED
        return "needs a program without sanitizers: their run-time library makes these calls too, and cannot go on "
               "when "
               "they fail";
#else
        if (std::system("command -v strace >/dev/null") != 0)
            return "strace is not installed: run scripts/setup --tests";
        if (std::system("strace -D -f -qq -o /dev/null -e inject=getppid:error=EPERM true 2>/dev/null") != 0)
            return "strace may not trace here: see /proc/sys/kernel/yama/ptrace_scope, or give the container "
                   "SYS_PTRACE";
        return {};
#endif
    }();
    return found;
}

#define NEEDS_STRACE() \
    if (!obstacle().empty()) GTEST_SKIP() << obstacle()

bool uringIsPermitted() {
    return UringSupport::ofThisProcess().available();
}

// ---- system calls that fail ----

TEST(Faults, AStormOfInterruptedCallsDisturbsNobody) {
    NEEDS_STRACE();
    Program server =
        httpServer(failing("accept4,recvfrom,sendto,sendmsg,epoll_wait,epoll_pwait2:error=EINTR:when=1+2"));
    const SocketAddress address = server.listening();
    for (int connections = 0; connections < 10; ++connections) {
        HttpClient client(address);
        for (int requests = 0; requests < 10; ++requests) expectService(client, "interrupted");
    }
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST(Faults, ConnectionsThatFailBeforeTheyAreAcceptedCostNobodyElse) {
    NEEDS_STRACE();
    for (const char* error : {"ECONNABORTED", "EPERM", "EPROTO"}) {
        Program server = httpServerOn("epoll", failing("accept4:error=" + std::string(error) + ":when=1+2"));
        const SocketAddress address = server.listening();
        for (int connections = 0; connections < 10; ++connections) {
            HttpClient client(address);
            expectService(client, error);
        }
        EXPECT_EQ(server.stop(), 0) << error;
    }
}

TEST(Faults, AShortageThatPassesDelaysAConnectionAndIsLoggedOnce) {
    NEEDS_STRACE();
    for (const char* error : {"EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"}) {
        Program server = httpServerOn("epoll", failing("accept4:error=" + std::string(error) + ":when=1"));
        HttpClient client(server.listening());
        expectService(client, error);
        EXPECT_EQ(server.stop(), 0) << error;
        const std::string complaints = server.complaints();
        EXPECT_EQ(std::count(complaints.begin(), complaints.end(), '\n'), 1) << error << ": " << complaints;
        EXPECT_NE(complaints.find("accepting on 127.0.0.1:"), std::string::npos) << complaints;
    }
}

TEST(Faults, AKernelWithoutEpollPwait2IsServedByItsOlderCall) {
    NEEDS_STRACE();
    for (const char* error : {"ENOSYS", "EPERM"}) {
        Program server = httpServerOn("epoll", failing("epoll_pwait2:error=" + std::string(error)));
        HttpClient client(server.listening());
        expectService(client, error);
        EXPECT_EQ(client.get("/sleep?ms=5").status, 200) << error;
        EXPECT_EQ(server.stop(), 0) << error;
        EXPECT_EQ(server.complaints(), "") << error;
    }
}

TEST(Faults, AStartThatFailsEndsWithStatusOneAndALineThatSaysWhatIsMissing) {
    NEEDS_STRACE();
    const struct {
        const char* fault;
        const char* said;
    } cases[] = {
        {"eventfd2:error=EMFILE", "eventfd: Too many open files"},
        {"epoll_create1:error=EMFILE", "epoll_create1: Too many open files"},
        {"epoll_create1:error=ENOMEM", "epoll_create1: Cannot allocate memory"},
        {"epoll_ctl:error=ENOSPC", "epoll_ctl: wake-up descriptor: No space left on device"},
        {"socket:error=EMFILE", "cannot listen on 127.0.0.1:0: Too many open files; raise the limit of"},
        {"bind:error=EADDRNOTAVAIL", "cannot listen on 127.0.0.1:0: Cannot assign requested address"},
        {"listen:error=EADDRINUSE", "cannot listen on 127.0.0.1:0: Address already in use; choose another"},
        {"clone,clone3:error=EAGAIN", "starting the thread of carrier weft0: Resource temporarily unavailable"}};
    for (const auto& [fault, said] : cases) {
        Program server = httpServerOn("epoll", failing(fault));
        EXPECT_EQ(server.exitStatus(), 1) << fault;
        EXPECT_EQ(server.output(), "") << fault;
        const std::string& errors = server.errors();
        const std::size_t last = errors.rfind("http_server: ");
        ASSERT_NE(last, std::string::npos) << fault << ": " << errors;
        EXPECT_EQ(errors.find('\n', last), errors.size() - 1) << fault << ": " << errors;
        EXPECT_NE(errors.find(said, last), std::string::npos) << fault << ": " << errors;
        EXPECT_EQ(errors.find("[system", last), errors.rfind("[system")) << "said twice: " << errors;
    }
}

// Interrupted, out of memory, too many completions: the call is retried.
TEST(Faults, RefusedCallsOfIoUringEnterDisturbNoConnection) {
    NEEDS_STRACE();
    if (!uringIsPermitted()) GTEST_SKIP() << "io_uring is not permitted here";
    for (const char* error : {"EINTR", "EAGAIN", "EBUSY", "ENOMEM"}) {
        Program server = httpServerOn("io_uring", failing("io_uring_enter:error=" + std::string(error) + ":when=10+3"));
        const SocketAddress address = server.listening();
        for (int connections = 0; connections < 10; ++connections) {
            HttpClient client(address);
            for (int requests = 0; requests < 10; ++requests) expectService(client, error);
        }
        EXPECT_EQ(server.stop(), 0) << error;
        EXPECT_EQ(server.complaints(), "") << error;
    }
}

TEST(Faults, ARingThatIsRefusedEndsAStartOnIoUringWithStatusOneAndTheReason) {
    NEEDS_STRACE();
    if (!uringIsPermitted()) GTEST_SKIP() << "io_uring is not permitted here";
    const struct {
        const char* fault;
        const char* said;
    } cases[] = {
        {"io_uring_setup:error=EPERM", "the transport io_uring is not available: io_uring_setup is not permitted"},
        {"io_uring_setup:error=ENOMEM", "RLIMIT_MEMLOCK"},
        {"io_uring_register:error=EINVAL", "the transport io_uring is not available"},
        {"epoll_create1:error=EMFILE", "epoll_create1: Too many open files"}};
    for (const auto& [fault, said] : cases) {
        Program server = httpServerOn("io_uring", failing(fault));
        EXPECT_EQ(server.exitStatus(), 1) << fault;
        EXPECT_EQ(server.output(), "") << fault;
        EXPECT_NE(server.errors().find(said), std::string::npos) << fault << ": " << server.errors();
    }
}

// Each mapping of a start fails once, including those of libraries (then the loader exits with status 127) and of
// stacks: the server does without it, or ends with a reason. Skips the first, which the loader does not survive.
TEST(Faults, AStartWithoutMemoryServesOrEndsWithAReason) {
    NEEDS_STRACE();
    int served = 0;
    for (int mapping = 2; served < 10; ++mapping) {  // past the last one, no mapping fails
        ASSERT_LT(mapping, 1000) << "there is always one more";
        Program server = httpServer(failing("mmap:error=ENOMEM:when=" + std::to_string(mapping)));
        const std::string announcement = server.outputLine();
        if (announcement.empty()) {
            served = 0;
            const int status = server.exitStatus();
            EXPECT_TRUE(status == 1 || status == 127) << "mapping " << mapping << " ended it with " << status;
            EXPECT_NE(server.errors(), "") << mapping;
            continue;
        }
        HttpClient client(SocketAddress::parse(announcement.substr(std::string("listening on ").size())));
        expectService(client, "a mapping less");
        EXPECT_EQ(server.stop(), 0) << mapping;
        ++served;
    }
}

// ---- shortages ----

// During its lifetime, this process and its children may have as many descriptors as the machine allows.
class AllDescriptors {
  public:
    AllDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit all{before_.rlim_max, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &all);
    }
    ~AllDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    AllDescriptors(const AllDescriptors&) = delete;
    AllDescriptors& operator=(const AllDescriptors&) = delete;
    std::size_t count() const { return before_.rlim_max; }

  private:
    rlimit before_{};
};

TEST(Faults, WithoutDescriptorsTheWaitingConnectionsAreServedAsSoonAsThereAreSome) {
#ifdef WEFT_SANITIZED_ADDRESS
    GTEST_SKIP() << "the undefined behaviour sanitizer, which comes with this one, needs descriptors of its own";
#endif
    Program server = httpServer({"prlimit", "--nofile=40"});
    const SocketAddress address = server.listening();
    const std::size_t before = server.descriptors();
    std::vector<std::unique_ptr<HttpClient>> served;
    while (before + served.size() < 40) {
        served.push_back(std::make_unique<HttpClient>(address));
        expectService(*served.back(), "there are descriptors left");
    }
    HttpClient waiting(address);  // in the backlog
    waiting.send("GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string complaint = server.errorLine();
    EXPECT_NE(complaint.find("Too many open files"), std::string::npos) << complaint;
    expectService(*served.back(), "others are short of descriptors, not this connection");
    served.clear();
    EXPECT_EQ(waiting.receive().status, 200);
    EXPECT_EQ(server.stop(), 0);
}

TEST(Faults, MoreCarriersThanCoresServeAll) {
    Program server("http_server", {"--listen", "127.0.0.1:0", "--carriers", "16"});
    const SocketAddress address = server.listening();
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < 64; ++i) clients.push_back(std::make_unique<HttpClient>(address));
    for (auto& client : clients) client->send("GET /sleep?ms=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    for (auto& client : clients) EXPECT_EQ(client->receive().status, 200);
    for (auto& client : clients) expectService(*client, "64 connections on 16 carriers");
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

// As many as the machine allows, up to ten thousand.
TEST(Faults, TenThousandIdleConnectionsAreHeldWhileOthersAreServedAndAllEnd) {
#ifdef WEFT_SANITIZED
    constexpr std::size_t wanted = 1'000;
#else
    constexpr std::size_t wanted = 10'000;
#endif
    const AllDescriptors allowed;
    ASSERT_GT(allowed.count(), 200u);
    const std::size_t count = std::min<std::size_t>(wanted, allowed.count() - 100);
    Program server = httpServer();
    const SocketAddress address = server.listening();
    const std::size_t before = server.descriptors();
    std::vector<std::unique_ptr<HttpClient>> idle;
    for (std::size_t i = 0; i < count; ++i) {
        idle.push_back(std::make_unique<HttpClient>(address));
        ASSERT_EQ(idle.back()->get("/plaintext").status, 200) << i;  // one that never asks is closed after 20 s
    }
    HttpClient busy(address);
    expectService(busy, "others are idle");
    expectDescriptors(server, before + count + 1, busy);
    server.signal(SIGTERM);
    for (auto& client : idle) ASSERT_TRUE(client->ended());
    EXPECT_EQ(server.exitStatus(), 0);
    // On a busy machine the drain reaches its limit, closes the rest and names them.
    std::istringstream complaints(server.complaints());
    for (std::string line; std::getline(complaints, line);)
        EXPECT_NE(line.find("weft: drain of "), std::string::npos) << line;
}

// ---- signals ----

TEST(Faults, AKilledServerIsStartedAgainAtOnceOnItsPort) {
    Program killed = httpServer();
    const SocketAddress address = killed.listening();
    auto client = std::make_unique<HttpClient>(address);
    expectService(*client, "before");
    EXPECT_EQ(killed.stop(SIGKILL), 128 + SIGKILL);
    EXPECT_TRUE(client->ended());
    Program again("http_server", {"--listen", address.toString(), "--carriers", "2"});
    EXPECT_EQ(again.listening(), address);
    HttpClient next(address);
    expectService(next, "after");
    EXPECT_EQ(again.stop(), 0);
}

TEST(Faults, AStoppedServerGoesOnWhereItWas) {
    Program server = httpServer();
    const SocketAddress address = server.listening();
    HttpClient idle(address);
    expectService(idle, "before");
    HttpClient sleeping(address);
    sleeping.send("GET /sleep?ms=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    server.freeze();
    idle.send("GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n");
    HttpClient arriving(address);  // into the backlog
    arriving.send("GET /fiber HTTP/1.1\r\nHost: x\r\n\r\n");
    server.thaw();
    EXPECT_EQ(sleeping.receive().status, 200);
    EXPECT_EQ(idle.receive().status, 200);
    EXPECT_EQ(arriving.receive().status, 200);
    EXPECT_EQ(server.stop(), 0);
}

// ---- peers ----

TEST(Faults, ARequestInSingleBytesIsAnswered) {
    Program server = httpServer();
    HttpClient client(server.listening());
    for (const char byte : std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")) {
        client.send(std::string_view(&byte, 1));
    }
    EXPECT_EQ(client.receive().body, "hello");
    EXPECT_EQ(server.stop(), 0);
}

TEST(Faults, PeersThatResetOrVanishAtAnyByteDoNotAffectOthersAndLeaveNothing) {
    Program server = httpServer();
    const SocketAddress address = server.listening();
    HttpClient untouched(address);
    expectService(untouched, "before");
    const std::size_t before = server.descriptors();
    const std::string request = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    for (std::size_t cut = 0; cut <= request.size(); ++cut) {
        BlockingPeer resets(address);
        resets.send(request.substr(0, cut));
        resets.reset();
        BlockingPeer ends(address);
        ends.send(request.substr(0, cut));
        ends.close();
        expectService(untouched, "others went away");
    }
    expectDescriptors(server, before, untouched);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

}  // namespace
}  // namespace weft::test
