// LoopThread: which thread an event loop runs on; tells without touching the loop, which may be gone.
#pragma once

#include <thread>

namespace weft {
class Carrier;
}

namespace weft::detail {

struct LoopThread {
    Carrier* carrier = nullptr;  // null: an embedded loop
    std::thread::id owner{};     // of an embedded loop

    // True on the carrier, in a fiber whose home it is, or in its poller; for an embedded loop on its owner's thread.
    bool isHere() const noexcept;
};

}  // namespace weft::detail
