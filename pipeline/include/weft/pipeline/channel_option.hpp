// ChannelOption: the typed settings of a channel: its own, and those of its socket.
#pragma once

#include <chrono>

#include <weft/pipeline/socket_option.hpp>
#include <weft/pipeline/write_buffer_water_mark.hpp>

namespace weft {

// The channel's own settings, with their defaults.
struct ChannelConfig {
    bool autoRead = true;              // read() after active and after each readComplete
    bool autoClose = true;             // a write error closes the channel (E-8)
    bool allowHalfClosure = false;     // the peer's end of output becomes a user event instead of a close (HC-1, HC-2)
    bool flushImmediately = false;     // each flush writes at once, instead of at the loop's flush point (W-7)
    unsigned maxMessagesPerRead = 16;  // messages per read cycle; 0 counts as 1
    std::chrono::milliseconds connectTimeout{30'000};  // 0: none (S-4)
    WriteBufferWaterMark writeBufferWaterMark;
};

// Names one option; T is the type of its value.
template <class T>
struct TypedChannelOption {
    const char* name;
    T ChannelConfig::*field = nullptr;  // null: an option of the socket, set by the sink
    SocketOption socket = SocketOption::reuseAddress;
    using Value = T;
};

// Names follow Netty's, but without SO_, TCP_ and IP_, because system headers define macros of such names, and spelled
// out: SO_SNDBUF is SEND_BUFFER, CONNECT_TIMEOUT_MILLIS is CONNECT_TIMEOUT. Units: socket_option.hpp.
// Example: channel.setOption(ChannelOption::AUTO_READ, false).
struct ChannelOption {
    static constexpr TypedChannelOption<bool> AUTO_READ{"AUTO_READ", &ChannelConfig::autoRead};
    static constexpr TypedChannelOption<bool> AUTO_CLOSE{"AUTO_CLOSE", &ChannelConfig::autoClose};
    static constexpr TypedChannelOption<bool> ALLOW_HALF_CLOSURE{"ALLOW_HALF_CLOSURE",
                                                                 &ChannelConfig::allowHalfClosure};
    static constexpr TypedChannelOption<bool> FLUSH_IMMEDIATELY{"FLUSH_IMMEDIATELY", &ChannelConfig::flushImmediately};
    static constexpr TypedChannelOption<unsigned> MAX_MESSAGES_PER_READ{"MAX_MESSAGES_PER_READ",
                                                                        &ChannelConfig::maxMessagesPerRead};
    static constexpr TypedChannelOption<std::chrono::milliseconds> CONNECT_TIMEOUT{"CONNECT_TIMEOUT",
                                                                                   &ChannelConfig::connectTimeout};
    static constexpr TypedChannelOption<WriteBufferWaterMark> WRITE_BUFFER_WATER_MARK{
        "WRITE_BUFFER_WATER_MARK", &ChannelConfig::writeBufferWaterMark};

    static constexpr TypedChannelOption<bool> REUSE_ADDRESS{"REUSE_ADDRESS", nullptr, SocketOption::reuseAddress};
    static constexpr TypedChannelOption<bool> REUSE_PORT{"REUSE_PORT", nullptr, SocketOption::reusePort};
    static constexpr TypedChannelOption<int> BACKLOG{"BACKLOG", nullptr, SocketOption::backlog};
    static constexpr TypedChannelOption<bool> NO_DELAY{"NO_DELAY", nullptr, SocketOption::noDelay};
    static constexpr TypedChannelOption<bool> KEEP_ALIVE{"KEEP_ALIVE", nullptr, SocketOption::keepAlive};
    static constexpr TypedChannelOption<int> KEEP_IDLE{"KEEP_IDLE", nullptr, SocketOption::keepIdle};
    static constexpr TypedChannelOption<int> KEEP_INTERVAL{"KEEP_INTERVAL", nullptr, SocketOption::keepInterval};
    static constexpr TypedChannelOption<int> KEEP_COUNT{"KEEP_COUNT", nullptr, SocketOption::keepCount};
    static constexpr TypedChannelOption<int> LINGER{"LINGER", nullptr, SocketOption::linger};
    static constexpr TypedChannelOption<int> SEND_BUFFER{"SEND_BUFFER", nullptr, SocketOption::sendBuffer};
    static constexpr TypedChannelOption<int> RECEIVE_BUFFER{"RECEIVE_BUFFER", nullptr, SocketOption::receiveBuffer};
    static constexpr TypedChannelOption<int> USER_TIMEOUT{"USER_TIMEOUT", nullptr, SocketOption::userTimeout};
    static constexpr TypedChannelOption<bool> QUICK_ACK{"QUICK_ACK", nullptr, SocketOption::quickAck};
    static constexpr TypedChannelOption<bool> CORK{"CORK", nullptr, SocketOption::cork};
    static constexpr TypedChannelOption<int> DEFER_ACCEPT{"DEFER_ACCEPT", nullptr, SocketOption::deferAccept};
    static constexpr TypedChannelOption<int> FAST_OPEN{"FAST_OPEN", nullptr, SocketOption::fastOpen};
    static constexpr TypedChannelOption<bool> FAST_OPEN_CONNECT{"FAST_OPEN_CONNECT", nullptr,
                                                                SocketOption::fastOpenConnect};
    static constexpr TypedChannelOption<int> NOT_SENT_LOWAT{"NOT_SENT_LOWAT", nullptr, SocketOption::notSentLowat};
    static constexpr TypedChannelOption<int> BUSY_POLL{"BUSY_POLL", nullptr, SocketOption::busyPoll};
    static constexpr TypedChannelOption<int> TRAFFIC_CLASS{"TRAFFIC_CLASS", nullptr, SocketOption::trafficClass};
};

}  // namespace weft
