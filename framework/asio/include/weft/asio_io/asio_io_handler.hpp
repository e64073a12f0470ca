// AsioIoHandler: lets a carrier serve a boost::asio::io_context in addition to its own transport's sockets.
#pragma once

#include <atomic>
#include <memory>

#include <weft/scheduler/io_handler_decorator.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft {
class EventLoop;
}

namespace weft::asio_io {

namespace detail {
class Service;
}

// A decorator for the handler of an event loop:
//     EventLoopGroupOptions options;
//     options.ioHandler = asio_io::AsioIoHandler::wrap;
// While no asio_io::Context runs on the loop, it forwards every call. While one runs, the carrier sleeps inside Asio,
// and Asio watches the wrapped handler through its pollFd(). At most one Context per loop.
class AsioIoHandler final : public IoHandlerDecorator {
  public:
    // Throws std::invalid_argument for null.
    explicit AsioIoHandler(std::unique_ptr<IoHandler> wrapped) : IoHandlerDecorator(std::move(wrapped)) {}
    // For EventLoopGroupOptions::ioHandler.
    static std::unique_ptr<IoHandler> wrap(std::unique_ptr<SocketIoHandler> builtIn);
    // The AsioIoHandler of this loop, inside any other decorators, or null. Context: any thread.
    static AsioIoHandler* of(EventLoop& loop) noexcept;

    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override;
    void wakeup() noexcept override;
    bool dispatchesAsleep() const noexcept override { return service_ != nullptr; }
    // -1: the carrier sleeps in Asio, which exposes no descriptor.
    int pollFd() const noexcept override { return -1; }
    void prepareToClose() override;
    bool closable() const noexcept override;
    void close() override;

  private:
    friend class detail::Service;

    // Context: the carrier.
    void attach(detail::Service& service);
    void forget(detail::Service& service) noexcept;
    void wakeInAsio(bool yes) noexcept;

    detail::Service* service_ = nullptr;
    // The service to wake, null for the wrapped handler; and the number of threads inside wakeup().
    std::atomic<detail::Service*> sleepsIn_{nullptr};
    std::atomic<unsigned> wakers_{0};
};

}  // namespace weft::asio_io
