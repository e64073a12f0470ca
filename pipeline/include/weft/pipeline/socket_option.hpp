// SocketOption: names the options of a socket. A channel passes them to its sink.
#pragma once

namespace weft {

// Values are ints: 0/1 for switches, bytes for buffers, seconds for linger (negative: unset) and the keep-alive times,
// milliseconds for userTimeout, connections for backlog.
enum class SocketOption : unsigned char {
    reuseAddress,
    reusePort,
    backlog,
    noDelay,
    keepAlive,
    keepIdle,
    keepInterval,
    keepCount,
    linger,
    sendBuffer,
    receiveBuffer,
    userTimeout,
    quickAck,
    cork,
    deferAccept,
    fastOpen,
    fastOpenConnect,
    notSentLowat,
    busyPoll,
    trafficClass,
};

}  // namespace weft
