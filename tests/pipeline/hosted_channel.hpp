// HostedChannel: a registered, active channel on a hosted loop, over a scripted sink. For tests with threads and
// fibers.
#pragma once

#include <memory>
#include <utility>

#include <weft/pipeline/channel.hpp>

#include "scripted_sink.hpp"
#include "support/loop_without_io.hpp"

namespace weft::test {

struct HostedChannel {
    LoopWithoutIo host;
    std::shared_ptr<SinkScript> sink = std::make_shared<SinkScript>();
    ChannelRef channel = Channel::create(host.loop);

    template <class Initializer>
    explicit HostedChannel(Initializer initializer) {
        channel->attach(std::make_unique<ScriptedSink>(*channel, sink));
        channel->setActive(true);
        channel->pipeline().addLast(std::move(initializer));
        channel->registerWithLoop().sync();
    }
    HostedChannel() : HostedChannel([](Channel&) {}) {}
    ~HostedChannel() {
        channel->close().sync();
        host.inDispatch([] {});  // runs after the tear-down task, which is already queued
    }
    Channel* operator->() { return channel.get(); }
};

}  // namespace weft::test
