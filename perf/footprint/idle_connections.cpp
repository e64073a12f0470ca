// What does an idle keep-alive connection cost? A server of one carrier with the full HTTP pipeline; client processes
// open N connections, each makes one request and is silent from then on. Prints resident memory, and allocated memory
// by size of block: before the first connection, with all of them idle, and after they have closed.
//   idle_connections [--connections 10000] [--clients 2] [--blocks 12]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sys/wait.h>

#include "../support/weft_server.hpp"

namespace {

// Live blocks by the size that malloc reserves for them, in steps of 16 bytes; the last counter is for all larger ones.
constexpr std::size_t step = 16;
constexpr std::size_t sizes = 5'000;
std::array<std::atomic<std::int64_t>, sizes> liveBlocks;
std::array<std::atomic<std::int64_t>, sizes> liveBytes;

void count(void* block, std::int64_t sign) noexcept {
    if (block == nullptr) return;
    const std::size_t bytes = malloc_usable_size(block) + sizeof(std::size_t);  // with malloc's own word
    const std::size_t index = std::min(bytes / step, sizes - 1);
    liveBlocks[index].fetch_add(sign, std::memory_order_relaxed);
    liveBytes[index].fetch_add(sign * static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

void* counted(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    count(block, 1);
    return block;
}

void release(void* block) noexcept {
    count(block, -1);
    std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
    return counted(std::malloc(size));
}
void* operator new(std::size_t size, std::align_val_t align) {
    const auto alignment = static_cast<std::size_t>(align);
    return counted(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
}
void operator delete(void* block) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t) noexcept {
    release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    release(block);
}

namespace weft::perf {
namespace {

struct Wanted {
    long connections;
    long clients;
    long blocks;
};

// Two pipes of a client process: it receives the port, then the order to end; it sends a byte once it is connected.
struct Client {
    pid_t process;
    int orders;
    int news;
};

void readExactly(int fd, void* into, std::size_t size, const char* what) {
    auto* at = static_cast<char*>(into);
    while (size > 0) {
        const ssize_t count = ::read(fd, at, size);
        if (count <= 0) die(what, count < 0 ? errno : 0);
        at += count;
        size -= static_cast<std::size_t>(count);
    }
}

int connectedAndServed(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) die("client: socket", errno);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die("client: connect", errno);
    constexpr std::string_view request =
        "GET /plaintext HTTP/1.1\r\nHost: localhost\r\nUser-Agent: idle\r\nAccept: */*\r\n\r\n";
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        die("client: send", errno);
    std::string answer;
    char bytes[4096];
    while (answer.find("Hello, World!") == std::string::npos) {
        const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
        if (count <= 0) die("client: the connection ended", count < 0 ? errno : 0);
        answer.append(bytes, static_cast<std::size_t>(count));
    }
    return fd;
}

[[noreturn]] void clientMain(int orders, int news, long connections) {
    std::uint16_t port = 0;
    readExactly(orders, &port, sizeof port, "client: no port");
    for (long i = 0; i < connections; ++i) connectedAndServed(port);
    const char connected = 1;
    if (::write(news, &connected, 1) != 1) std::_Exit(1);
    char end = 0;
    if (::read(orders, &end, 1) != 0) std::_Exit(1);
    std::_Exit(0);  // closes all connections
}

Client start(long connections) {
    int orders[2];
    int news[2];
    if (::pipe2(orders, O_CLOEXEC) != 0 || ::pipe2(news, O_CLOEXEC) != 0) die("pipe", errno);
    const pid_t process = ::fork();
    if (process < 0) die("fork", errno);
    if (process == 0) {
        ::close(orders[1]);
        clientMain(orders[0], news[1], connections);
    }
    ::close(orders[0]);
    ::close(news[1]);
    return {process, orders[1], news[0]};
}

std::size_t statusKiB(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.compare(0, key.size(), key) == 0) return std::stoul(line.substr(key.size()));
    }
    return 0;
}

// The kernel's memory for TCP, of the whole machine, in pages.
std::size_t kernelTcpPages() {
    std::ifstream sockets("/proc/net/sockstat");
    for (std::string word; sockets >> word;) {
        if (word != "TCP:") continue;
        while (sockets >> word && word != "mem") {
        }
        std::size_t pages = 0;
        sockets >> pages;
        return pages;
    }
    return 0;
}

struct Snapshot {
    std::size_t residentKiB = statusKiB("VmRSS:");
    std::size_t tcpPages = kernelTcpPages();
    std::vector<std::int64_t> blocks = read(liveBlocks);
    std::vector<std::int64_t> bytes = read(liveBytes);

    static std::vector<std::int64_t> read(const std::array<std::atomic<std::int64_t>, sizes>& from) {
        return std::vector<std::int64_t>(from.begin(), from.end());
    }
    std::int64_t allBytes() const {
        std::int64_t sum = 0;
        for (const std::int64_t one : bytes) sum += one;
        return sum;
    }
};

double perConnection(double amount, long connections) {
    return amount / static_cast<double>(connections);
}

void printBlocks(const Snapshot& before, const Snapshot& idle, const Wanted& wanted) {
    struct Row {
        std::size_t size;
        std::int64_t blocks;
        std::int64_t bytes;
    };
    std::vector<Row> rows;
    for (std::size_t i = 0; i < sizes; ++i) {
        const Row row{i * step, idle.blocks[i] - before.blocks[i], idle.bytes[i] - before.bytes[i]};
        if (row.bytes != 0) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [](const Row& left, const Row& right) { return left.bytes > right.bytes; });
    std::printf("  %8s %12s %14s\n", "block", "blocks each", "bytes each");
    for (std::size_t i = 0; i < rows.size() && i < static_cast<std::size_t>(wanted.blocks); ++i) {
        std::printf("  %7zu%s %12.3f %14.1f\n", rows[i].size, rows[i].size == (sizes - 1) * step ? "+" : " ",
                    perConnection(static_cast<double>(rows[i].blocks), wanted.connections),
                    perConnection(static_cast<double>(rows[i].bytes), wanted.connections));
    }
}

void awaitLive(const Server& server, std::size_t connections) {
    while (server.liveChildren() != connections) std::this_thread::yield();
}

void run(const Wanted& wanted) {
    std::vector<Client> clients;  // forked before the first thread starts
    for (long i = 0; i < wanted.clients; ++i) {
        clients.push_back(
            start(wanted.connections / wanted.clients + (i < wanted.connections % wanted.clients ? 1 : 0)));
    }
    EventLoopGroupOptions options;
    options.carriers = 1;
    EventLoopGroup group(options);
    ServerBootstrap bootstrap(group);
    const auto codec = std::make_shared<const http::ServerCodecOptions>(http::ServerCodecOptions{.serverName = "weft"});
    bootstrap.childHandler([codec](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>(codec);
        channel.pipeline().addLast<http::ObjectAggregator>();
        channel.pipeline().addLast<InlineHandler>(std::string_view("/plaintext"));
    });
    const Server server = bootstrap.bind(SocketAddress("127.0.0.1", 0)).sync().channel();

    const Snapshot before;
    const std::uint16_t port = server.localAddress().port();
    for (const Client& client : clients) {
        if (::write(client.orders, &port, sizeof port) != sizeof port) die("a client has gone", errno);
    }
    for (const Client& client : clients) {
        char connected = 0;
        readExactly(client.news, &connected, 1, "a client has failed");
    }
    awaitLive(server, static_cast<std::size_t>(wanted.connections));
    const Snapshot idle;
    for (const Client& client : clients) ::close(client.orders);
    for (const Client& client : clients) ::waitpid(client.process, nullptr, 0);
    awaitLive(server, 0);
    const Snapshot after;

    const auto each = [&](double amount) { return perConnection(amount, wanted.connections); };
    std::printf("%ld idle connections: resident %zu KiB before, %zu KiB with them, %zu KiB after them\n",
                wanted.connections, before.residentKiB, idle.residentKiB, after.residentKiB);
    std::printf("each: resident %.2f KiB, allocated %.2f KiB; left afterwards: allocated %.1f bytes; kernel (both "
                "ends) %.2f KiB\n",
                each(static_cast<double>(idle.residentKiB - before.residentKiB)),
                each(static_cast<double>(idle.allBytes() - before.allBytes())) / 1024,
                each(static_cast<double>(after.allBytes() - before.allBytes())),
                each(4.0 * static_cast<double>(idle.tcpPages - std::min(before.tcpPages, idle.tcpPages))));
    std::printf(
        "  of it: Channel %zu, ServerCodec %zu, ObjectAggregator %zu bytes; the rest are its handlers' contexts, "
        "tables, buffers\n",
        sizeof(Channel), sizeof(http::ServerCodec), sizeof(http::ObjectAggregator));
    printBlocks(before, idle, wanted);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    weft::perf::Flags flags(argc, argv, "[--connections N] [--clients N] [--blocks N]");
    weft::perf::Wanted wanted{};
    wanted.connections = flags.number("--connections", 10'000, 1, 1'000'000);
    wanted.clients = flags.number("--clients", 2, 1, 1'000);
    wanted.blocks = flags.number("--blocks", 12, 1, 1'000);
    flags.finish();
    try {
        weft::perf::run(wanted);
    } catch (const std::exception& error) {
        weft::perf::die(error.what());
    }
}
