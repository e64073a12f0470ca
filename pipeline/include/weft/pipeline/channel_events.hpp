// User events: those that a channel itself fires, and the one that a server fires on its connections.
#pragma once

namespace weft {

// The peer ended its output; this side may still write. Fired once, with ALLOW_HALF_CLOSURE only. (HC-2)
struct InputShutdownEvent {};
// A read found the end of input again after InputShutdownEvent; reading has stopped. Fired once. (HC-2)
struct InputShutdownReadCompleteEvent {};
// This side's output has been shut down; reading continues. (HC-3)
struct OutputShutdownEvent {};

// The server of this connection drains (Server::drain()). Handlers should finish what has begun, accept nothing new,
// and close. http::ServerCodec does so; a handler of another protocol reacts in userEventTriggered(). A connection
// whose handlers ignore it lives until the drain's timeout.
struct DrainStarted {};

}  // namespace weft
