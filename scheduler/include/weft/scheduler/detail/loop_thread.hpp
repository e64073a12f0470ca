// LoopThread: identifies the thread of an event loop without access to the loop, which may have been destroyed.
#pragma once

#include <thread>

#include <weft/scheduler/detail/current_home.hpp>

namespace weft::detail {

struct LoopThread {
    Carrier* carrier = nullptr;  // null: an embedded loop
    std::thread::id owner{};     // of an embedded loop

    // As EventLoop::inEventLoop().
    bool isHere() const noexcept {
        return carrier != nullptr ? currentHome() == carrier : std::this_thread::get_id() == owner;
    }
};

}  // namespace weft::detail
