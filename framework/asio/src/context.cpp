#include <weft/asio_io/context.hpp>

#include <chrono>
#include <future>
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

// One thread runs the context, so Asio needs no wake-ups between threads.
constexpr int oneThread = 1;

}  // namespace

Context::Context(detail::ThisAsio) : io_context(oneThread), own_(oneCarrier()) {
    service_ = std::make_shared<detail::Service>(*this, own_->loop(0), false);
}

Context::Context(int, detail::ThisAsio) : Context() {}

Context::Context(EventLoop& loop, detail::ThisAsio) : io_context(oneThread) {
    service_ = std::make_shared<detail::Service>(*this, loop, false);
}

Context::Context(EventLoop& loop, ForLife) : io_context(oneThread) {
    service_ = std::make_shared<detail::Service>(*this, loop, true);
}

Context::~Context() {
    if (service_ == nullptr) return;
    if (!detail::Service::exitsHere()) {
        end();
    } else if (service_->isHere()) {
        destroyHandlersInExit();
        service_->abandon();
        static_cast<void>(own_.release());
        static_cast<void>(new std::shared_ptr(service_));  // the carrier, which is inside exit(), keeps using it
    } else {
        endInExit();
    }
}

void Context::destroyHandlersInExit() noexcept {
    service_->abandonPosted();
    shutdown();
}

// On another thread. A function of this Context may wait for an object of that Context whose carrier is inside exit()
// here: it waits until the handlers of that one are destroyed.
void Context::endInExit() noexcept {
    detail::Service* const here = detail::Service::here();
    const std::future<void> ended = std::async(std::launch::async, [this] { end(); });
    while (ended.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        if (here == nullptr) continue;
        static_cast<Context&>(here->context()).destroyHandlersInExit();
        here->abandon();
    }
}

EventLoop& Context::loop() const noexcept {
    return service_->loop();
}

bool Context::endWaits() noexcept {
    return service_->endWaits([this] { shutdown(); });
}

// Asio's services destroy the handlers that wait in them, which may start others.
void Context::end() noexcept {
    service_->leave();
    while (!endWaits()) detail::Service::pauseBetweenRounds();
    own_.reset();  // ends the other fibers of its carrier, to which the service refuses operations
    shutdown();
    service_->forget();
}

std::size_t Context::serve(std::size_t most, bool waits, Deadline deadline, const char* call) {
    if (service_->servesForLife())
        throw std::logic_error(
            std::string(call) +
            ": this Context belongs to a ContextGroup, which runs it all the time; do not run it yourself");
    return service_->serve(most, waits, deadline, call);
}

void Context::restart() {
    boost::asio::io_context::restart();
    service_->noteRestart();
}

namespace detail {

void workStarted(Context& context) noexcept {
    context.service().scheduler().work_started();
}

void workFinished(Context& context) noexcept {
    context.service().scheduler().work_finished();
}

}  // namespace detail
}  // namespace weft::asio_io
