// Carrying: a carrier whose Context runs.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/framework/event_loop_group.hpp>
#include <weft/scheduler/carrier.hpp>

namespace weft::asio_io::test {

// Spawns a fiber, and returns once it waits: its child cannot run before it does, whatever order fibers run in.
template <class F>
auto spawnWaiting(Carrier& carrier, F fn) {
    auto waits = std::make_shared<std::promise<void>>();
    auto fiber = carrier.spawn([waits, fn = std::move(fn)]() mutable {
        Carrier::current()->spawn([waits] { waits->set_value(); }).detach();
        return fn();
    });
    waits->get_future().wait();
    return fiber;
}

struct Carrying {
    Carrying() : group(options()), contexts(group) {}
    static EventLoopGroupOptions options() {
        EventLoopGroupOptions options;
        options.name = "test";
        options.carriers = 1;
        options.ioHandler = AsioIoHandler::wrap;
        return options;
    }
    Context& context() { return contexts.context(0); }
    template <class F>
    auto inFiber(F fn) {
        return group.carriers().carrier(0).spawn(std::move(fn)).join();
    }
    template <class F>
    auto waiting(F fn) {
        return spawnWaiting(group.carriers().carrier(0), std::move(fn));
    }

    EventLoopGroup group;
    ContextGroup contexts;
};

}  // namespace weft::asio_io::test
