#include "current_channel.hpp"

extern "C" {
thread_local constinit weft::Channel* weftCurrentChannel = nullptr;
}

#if !defined(__x86_64__)
namespace weft::detail {

[[gnu::noinline]] Channel* currentChannel() noexcept {
    return weftCurrentChannel;
}
[[gnu::noinline]] void setCurrentChannel(Channel* channel) noexcept {
    weftCurrentChannel = channel;
}

}  // namespace weft::detail
#endif
