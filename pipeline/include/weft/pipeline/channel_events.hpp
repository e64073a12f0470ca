// The user events that a channel itself fires.
#pragma once

namespace weft {

// The peer ended its output; this side may still write. Once, with ALLOW_HALF_CLOSURE. (HC-2)
struct InputShutdownEvent {};
// A read found the end again after InputShutdownEvent; reading has stopped. Once. (HC-2)
struct InputShutdownReadCompleteEvent {};
// This side's output has been shut down; reading continues. (HC-3)
struct OutputShutdownEvent {};

}  // namespace weft
