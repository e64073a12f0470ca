// SlowPeer: a server codec over a scripted transport whose peer sends freely but reads only when the test tells it to.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/scripted_sink.hpp"

namespace weft::http::test {

struct SlowPeer {
    static constexpr std::size_t readBytes = 64 * 1024;  // per read of the transport

    explicit SlowPeer(const std::function<void(ChannelPipeline&)>& fill) {
        fill(channel.pipeline());
        channel.sink->room = 0;
        channel.start();
    }
    explicit SlowPeer(Application::Answer answer, ServerCodecOptions options = {})
        : SlowPeer([&](ChannelPipeline& pipeline) {
              pipeline.addLast<ServerCodec>(std::move(options)).addLast<ObjectAggregator>(std::size_t{1} << 20);
              pipeline.addLast<Application>(std::move(answer));
          }) {}
    // Puts the bytes into the socket; the server reads when it wants to.
    void send(std::string_view bytes) { unread_ += bytes; }
    // Runs turns of the loop until the server stops reading or has read everything.
    void deliver() {
        for (channel.run(); channel.sink->wantsRead && !unread_.empty() && channel->open(); channel.run()) {
            channel->onRead(Buffer::copyOf(unread_.substr(0, readBytes)));
            unread_.erase(0, readBytes);
            channel->onReadComplete();
            mostPending = std::max(mostPending, channel->pendingBytes());
        }
    }
    // Reads up to this many bytes.
    void take(std::size_t bytes) {
        channel.sink->room += bytes;
        channel->onWritable();
        deliver();
    }
    void takeAll() { take(std::numeric_limits<std::size_t>::max() - channel.sink->room); }
    const std::string& received() const { return channel.sink->written; }
    std::size_t unread() const { return unread_.size(); }

    weft::test::ScriptedChannel channel;
    std::size_t mostPending = 0;

  private:
    std::string unread_;
};

}  // namespace weft::http::test
