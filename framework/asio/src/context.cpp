#include <weft/asio_io/context.hpp>

#include <stdexcept>
#include <string>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/framework/event_loop_group.hpp>

#include "service.hpp"

namespace weft::asio_io {

namespace {

std::unique_ptr<EventLoopGroup> oneCarrier() {
    EventLoopGroupOptions options;
    options.name = "asio";
    options.carriers = 1;
    options.ioHandler = AsioIoHandler::wrap;
    return std::make_unique<EventLoopGroup>(options);
}

}  // namespace

Context::Context() : own_(oneCarrier()) {
    serveOn(own_->loop(0), false);
}

Context::Context(int) : Context() {}

Context::Context(EventLoop& loop) {
    serveOn(loop, false);
}

Context::Context(EventLoop& loop, ForLife) {
    serveOn(loop, true);
}

Context::~Context() {
    if (!left_) leaveLoop();
    destroyHandlers();
}

std::size_t Context::serve(std::size_t most, bool waits, Deadline deadline, const char* call) {
    if (service_->servesForLife())
        throw std::logic_error(
            std::string(call) +
            ": this Context belongs to a ContextGroup, which runs it all the time; do not run it yourself");
    return service_->serve(most, waits, deadline, call);
}

void Context::stop() {
    boost::asio::io_context::stop();
    service_->noteStop();
}

void Context::restart() {
    boost::asio::io_context::restart();
    service_->noteRestart();
}

}  // namespace weft::asio_io
