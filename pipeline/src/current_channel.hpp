// The channel whose pipeline this thread is in. PipelineEntry sets it, so that a handler's calls on its own context
// need neither a check of the thread nor an entry of their own.
#pragma once

namespace weft {
class Channel;
}

// A C name, so that the code below can name it.
extern "C" {
extern thread_local constinit weft::Channel* weftCurrentChannel [[gnu::tls_model("initial-exec")]];
}

namespace weft::detail {

// As detail::currentHome(): the compiler must not keep a thread-local's address across a fiber switch.
#if defined(__x86_64__)
inline Channel* currentChannel() noexcept {
    Channel* channel;
    asm volatile("movq weftCurrentChannel@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(channel));
    return channel;
}
inline void setCurrentChannel(Channel* channel) noexcept {
    Channel** offset;
    asm volatile("movq weftCurrentChannel@gottpoff(%%rip), %0\n\tmovq %1, %%fs:(%0)"
                 : "=&r"(offset)
                 : "r"(channel)
                 : "memory");
}
#else
Channel* currentChannel() noexcept;
void setCurrentChannel(Channel* channel) noexcept;
#endif

}  // namespace weft::detail
