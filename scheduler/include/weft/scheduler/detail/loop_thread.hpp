// LoopThread: which thread an event loop runs on; tells without touching the loop, which may be gone.
#pragma once

#include <thread>

#include <weft/scheduler/detail/current_home.hpp>

namespace weft::detail {

struct LoopThread {
    Carrier* carrier = nullptr;  // null: an embedded loop
    std::thread::id owner{};     // of an embedded loop

    // True on the carrier, in a fiber whose home it is, or in its poller; for an embedded loop on its owner's thread.
    bool isHere() const noexcept {
        return carrier != nullptr ? currentHome() == carrier : std::this_thread::get_id() == owner;
    }
};

}  // namespace weft::detail
