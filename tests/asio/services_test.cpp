// What Asio builds on a context: TLS streams, name resolution, signals. They start no hidden thread, and their handlers
// run on the carrier.
#include <weft/asio_io/context.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/framework/run_until_signal.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_watchdog.hpp>

#include "support/log_capture.hpp"
#include "support/sanitized.hpp"
#include "support/thread_count.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using asio::local::stream_protocol;
using namespace std::chrono_literals;

// Runs it until it is out of work; false after a time that only a lost event reaches.
bool finishes(Context& context) {
    context.run_for(60s);
    return context.stopped();
}

// Anonymous Diffie-Hellman: needs no certificate.
ssl::context anonymous() {
    ssl::context tls(ssl::context::tlsv12);
    if (SSL_CTX_set_cipher_list(tls.native_handle(), "ADH-AES256-GCM-SHA384:@SECLEVEL=0") != 1) ADD_FAILURE();
    SSL_CTX_set_dh_auto(tls.native_handle(), 1);
    return tls;
}

// Asio's synchronous calls know no fibers.
TEST(AsioServices, TheWatchdogShowsASynchronousCallThatBlocksACarrier) {
    Context context;
    stream_protocol::socket reader(context), writer(context);
    asio::local::connect_pair(reader, writer);
    const test::LogCapture log;
    const CarrierWatchdog watchdog(context.loop().carrier()->group(), {.limit = 100ms});
    auto fiber = context.loop().carrier()->spawn(
        [&] {
            char byte = 0;
            return reader.read_some(asio::buffer(&byte, 1));
        },
        {.name = "reads without use_fiber"});
#ifdef WEFT_SANITIZED_THREAD  // delays signals until the thread makes a system call
    EXPECT_TRUE(log.await("has been in one task for")) << log.text();
#else
    EXPECT_TRUE(log.await("has been in one task for", "'reads without use_fiber'")) << log.text();
    EXPECT_TRUE(log.await("recv")) << log.text();
#endif
    asio::write(writer, asio::buffer("x", 1));
    EXPECT_EQ(fiber.join(), 1u);
}

TEST(AsioServices, FibersSpeakTlsAndNoThreadIsHidden) {
    Context context;
    const std::size_t before = test::threadCount();
    const FiberExecutor fibers(context);
    ssl::context tls = anonymous();
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    const std::string sent(100'000, 'x');
    std::string echoed(sent.size(), ' ');
    asio::post(fibers, [&] {
        ssl::stream<tcp::socket> stream(acceptor.async_accept(use_fiber), tls);
        stream.async_handshake(ssl::stream_base::server, use_fiber);
        std::string received(sent.size(), ' ');
        asio::async_read(stream, asio::buffer(received), use_fiber);
        asio::async_write(stream, asio::buffer(received), use_fiber);
        ErrorCode end;
        stream.async_shutdown(use_fiber[end]);
    });
    asio::post(fibers, [&] {
        ssl::stream<tcp::socket> stream(context, tls);
        stream.next_layer().async_connect(acceptor.local_endpoint(), use_fiber);
        stream.async_handshake(ssl::stream_base::client, use_fiber);
        asio::async_write(stream, asio::buffer(sent), use_fiber);
        asio::async_read(stream, asio::buffer(echoed), use_fiber);
        ErrorCode end;
        stream.async_shutdown(use_fiber[end]);
        EXPECT_EQ(test::threadCount(), before);
    });
    ASSERT_TRUE(finishes(context));
    EXPECT_EQ(echoed, sent);
}

TEST(AsioServices, AResolverStartsOneThreadAndCompletesOnTheCarrier) {
    Context context;
    const std::size_t before = test::threadCount();
    tcp::resolver resolver(context), second(context);
    std::size_t found = 0;
    const auto count = [&](ErrorCode error, const tcp::resolver::results_type& addresses) {
        EXPECT_FALSE(error);
        EXPECT_TRUE(context.loop().inEventLoop());
        EXPECT_EQ(test::threadCount(), before + 1);
        found += addresses.size();
    };
    resolver.async_resolve("127.0.0.1", "80", count);
    second.async_resolve("127.0.0.1", "81", count);
    ASSERT_TRUE(finishes(context));
    EXPECT_EQ(found, 2u);
}

TEST(AsioServices, AFiberWaitsForAResolver) {
    Context context;
    std::size_t found = 0;
    asio::post(FiberExecutor(context), [&] {
        tcp::resolver resolver(context);
        found = resolver.async_resolve("127.0.0.1", "80", use_fiber).size();
    });
    ASSERT_TRUE(finishes(context));
    EXPECT_EQ(found, 1u);
}

// The descriptor for signals stays open for the process's life; created here, no test counts it as a leak.
[[maybe_unused]] const bool signalsWereTaken = (ShutdownSignals(), true);

// Restores the disposition of SIGTERM at the end of a test.
class SigtermKept {
  public:
    SigtermKept() { ::sigaction(SIGTERM, nullptr, &former_); }
    ~SigtermKept() { ::sigaction(SIGTERM, &former_, nullptr); }
    SigtermKept(const SigtermKept&) = delete;
    SigtermKept& operator=(const SigtermKept&) = delete;

    bool isKept() const {
        struct sigaction now = {};
        ::sigaction(SIGTERM, nullptr, &now);
        return now.sa_handler == former_.sa_handler;
    }

  private:
    struct sigaction former_ = {};
};

TEST(AsioServices, ShutdownSignalsCreatedAfterASignalSetTakesTheSignalAndReturnsIt) {
    const SigtermKept kept;
    Context context;
    asio::signal_set signals(context, SIGTERM);
    int heard = 0;
    signals.async_wait([&](ErrorCode error, int) { heard += !error; });
    {
        ShutdownSignals shutdown;
        std::raise(SIGTERM);
        ASSERT_EQ(shutdown.wait(), SIGTERM);
    }
    context.poll();
    EXPECT_EQ(heard, 0);
    std::raise(SIGTERM);
    ASSERT_TRUE(finishes(context));
    EXPECT_EQ(heard, 1);
}

// Asio's rule: once its last signal_set is gone, a signal has its default effect, whatever it had before.
TEST(AsioServices, ASignalSetCreatedAfterShutdownSignalsTakesTheSignalAndLeavesTheDefault) {
    const SigtermKept kept;
    Context context;
    {
        ShutdownSignals shutdown;
        {
            asio::signal_set signals(context, SIGTERM);
            int heard = 0;
            signals.async_wait([&](ErrorCode error, int) { heard += !error; });
            std::raise(SIGTERM);
            ASSERT_TRUE(finishes(context));
            EXPECT_EQ(heard, 1);
        }
        struct sigaction now = {};
        ::sigaction(SIGTERM, nullptr, &now);
        EXPECT_EQ(now.sa_handler, SIG_DFL);
    }
    EXPECT_TRUE(kept.isKept());
}

// ---- run_until() with various clocks ----

// Stands still until it is set.
struct SetClock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<SetClock>;
    [[maybe_unused]] static constexpr bool is_steady = false;
    static inline std::atomic<rep> time{0};
    static time_point now() { return time_point(duration(time)); }
};

TEST(AsioServices, RunUntilSeesAClockThatIsSetForward) {
    Context context;
    const auto work = asio::make_work_guard(context);
    SetClock::time = 0;
    asio::post(context, [] { SetClock::time = 3'600'000; });  // while run_until() waits
    EXPECT_EQ(context.run_until(SetClock::time_point(1h)), 1u);
    EXPECT_FALSE(context.stopped());
}

template <class Clock>
class RunUntil : public testing::Test {};
using Clocks = testing::Types<std::chrono::steady_clock, std::chrono::system_clock>;
TYPED_TEST_SUITE(RunUntil, Clocks);

TYPED_TEST(RunUntil, AcceptsTheExtremeTimesOfTheClock) {
    using Hours = std::chrono::time_point<TypeParam, std::chrono::hours>;
    Context context;
    const auto ranUntil = [&](auto time) {
        asio::post(context, [] {});
        context.restart();
        return context.run_until(time);
    };
    EXPECT_EQ(ranUntil(TypeParam::time_point::max()), 1u);
    EXPECT_EQ(ranUntil(Hours::max()), 1u);
    asio::post(context, [] {});
    context.restart();
    EXPECT_EQ(context.run_one_until(Hours::max()), 1u);
    const auto work = asio::make_work_guard(context);
    context.restart();
    context.run_until(TypeParam::time_point::min());
    context.run_until(Hours::min());
    context.run_one_until(TypeParam::now() + 1ms);
    EXPECT_FALSE(context.stopped());
}

}  // namespace
}  // namespace weft::asio_io
