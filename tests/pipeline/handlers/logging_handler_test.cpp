#include <weft/pipeline/handlers/logging_handler.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "support/log_capture.hpp"

namespace weft {
namespace {

TEST(LoggingHandler, EveryEventAndOperationIsLoggedAndPassesOn) {
    test::LogCapture log;
    test::Events events;
    auto shared = std::make_shared<LoggingHandler>();
    EmbeddedChannel channel(std::make_unique<test::Recorder>("front", events), shared,
                            std::make_unique<test::Recorder>("back", events));
    channel.writeInbound(Buffer::copyOf("hello"));
    channel.pipeline().fireUserEventTriggered(Message(7));
    channel.pipeline().fireExceptionCaught(std::make_exception_ptr(std::runtime_error("a reason")));
    EXPECT_THROW(channel.checkException(), std::runtime_error);
    channel.channel().setUserDefinedWritability(1, false);
    channel.channel().setUserDefinedWritability(1, true);
    channel.channel().bind(SocketAddress("127.0.0.1", 1));
    channel.channel().connect(SocketAddress("127.0.0.1", 2));
    channel.writeOutbound(Buffer::copyOf("answer"));
    channel.channel().disconnect();
    channel.runPendingTasks();
    for (const char* line :
         {"ADDED", "REGISTERED", "ACTIVE", "READ 5 bytes", "READ COMPLETE", "READ REQUEST", "USER EVENT int",
          "EXCEPTION a reason", "NOT WRITABLE", "BIND 127.0.0.1:1", "CONNECT 127.0.0.1:2", "WRITE 6 bytes", "FLUSH",
          "DISCONNECT", "INACTIVE", "UNREGISTERED", "REMOVED"}) {
        EXPECT_GE(log.count(line), 1) << line << " is missing in\n" << log.text();
    }
    for (const char* event : {"registered", "active", "read", "readComplete", "event int", "exception a reason",
                              "writability", "inactive", "unregistered"}) {
        EXPECT_EQ(std::count(events.begin(), events.end(), std::string("front:") + event),
                  std::count(events.begin(), events.end(), std::string("back:") + event))
            << event;
    }
    for (const char* operation : {"bind", "connect", "write", "flush", "disconnect"}) {
        EXPECT_EQ(std::count(events.begin(), events.end(), std::string("front:") + operation), 1) << operation;
    }
}

TEST(LoggingHandler, CloseAndDeregisterAreLogged) {
    test::LogCapture log;
    EmbeddedChannel channel(std::make_unique<LoggingHandler>(LogLevel::info, LoggedBytes::count, "wire"));
    channel.channel().deregister();
    channel.channel().close();
    EXPECT_EQ(log.count("wire: channel " + std::to_string(channel.channel().id()) + " (", ") DEREGISTER"), 1);
    EXPECT_EQ(log.count(") CLOSE"), 1);
}

TEST(LoggingHandler, BytesAreShownAsPrintableTextUpToALimit) {
    test::LogCapture log;
    EmbeddedChannel channel(std::make_unique<LoggingHandler>(LogLevel::debug, LoggedBytes::text));
    channel.writeInbound(Buffer::copyOf("a\\b\r\n\xff ~"));
    EXPECT_EQ(log.count("READ 8 bytes: a\\x5cb\\x0d\\x0a\\xff ~"), 1) << log.text();
    channel.writeInbound(Buffer::copyOf(std::string(129, 'y')));
    EXPECT_EQ(log.count("READ 129 bytes: " + std::string(128, 'y') + "..."), 1);
}

}  // namespace
}  // namespace weft
