// SocketOption: names the options of a socket. A channel passes them to its sink.
#pragma once

namespace weft {

// Values are ints: 0 or 1 for switches; bytes for buffers and notSentLowat; seconds for linger (negative: unset),
// deferAccept, keepIdle and keepInterval; milliseconds for userTimeout; microseconds for busyPoll; connections for
// backlog and fastOpen; probes for keepCount; the IP TOS byte for trafficClass.
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
