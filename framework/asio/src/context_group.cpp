#include <weft/asio_io/context_group.hpp>

#include <weft/framework/event_loop_group.hpp>

#include "service.hpp"

namespace weft::asio_io {

ContextGroup::ContextGroup(EventLoopGroup& group, detail::ThisAsio) : loops_(group.loopSet()) {
    for (std::size_t i = 0; i < group.size(); ++i)
        contexts_.push_back(std::unique_ptr<Context>(new Context(group.loop(i), Context::ForLife())));
}

// One round, of all contexts. True: none waits any more.
bool ContextGroup::endWaits() {
    bool ended = true;
    for (const auto& context : contexts_) ended = context->endWaits() && ended;
    return ended;
}

// All contexts leave their loops first, because handlers of one may hold objects of another.
ContextGroup::~ContextGroup() {
    for (const auto& context : contexts_) context->service().leave();
    // In rounds, because functions of one may wait for operations of another.
    while (!endWaits()) detail::Service::pauseBetweenRounds();
}

Context& ContextGroup::next() noexcept {
    if (EventLoop* const here = Carrier::home() ? EventLoop::of(*Carrier::home()) : nullptr) {
        for (const auto& context : contexts_) {
            if (&context->loop() == here) return *context;
        }
    }
    return *contexts_[next_.fetch_add(1, std::memory_order_relaxed) % contexts_.size()];  // any order will do
}

}  // namespace weft::asio_io
