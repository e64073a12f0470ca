// IoHandlerDecorator: an IoHandler that wraps another one and forwards every call. Derive from it to count or measure
// the calls between an event loop and its transport, or to inject faults into them.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include <weft/scheduler/io_handler.hpp>

namespace weft {

// Every call has the context and the guarantees of IoHandler's; an override must not block or throw where IoHandler
// forbids it. Cost: one more virtual call per call of the loop: poll() in each turn, hasWork() and dispatchesAsleep()
// before a sleep. Streams and channels call their transport directly and are not affected. An override of poll() passes
// its PollGuard on to the wrapped handler, and calls neither enter() nor leave() itself.
class IoHandlerDecorator : public IoHandler {
  public:
    // Throws std::invalid_argument for null.
    explicit IoHandlerDecorator(std::unique_ptr<IoHandler> wrapped) : wrapped_(std::move(wrapped)) {
        if (!wrapped_) throw std::invalid_argument("IoHandlerDecorator: the handler is null; give the handler to wrap");
    }

    void open(Carrier& carrier) override { wrapped_->open(carrier); }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        return wrapped_->poll(guard, deadline, budget);
    }
    void wakeup() noexcept override { wrapped_->wakeup(); }
    bool hasWork() const noexcept override { return wrapped_->hasWork(); }
    bool dispatchesAsleep() const noexcept override { return wrapped_->dispatchesAsleep(); }
    int pollFd() const noexcept override { return wrapped_->pollFd(); }
    void closeChannels() override { wrapped_->closeChannels(); }
    void prepareToClose() override { wrapped_->prepareToClose(); }
    bool closable() const noexcept override { return wrapped_->closable(); }
    void close() override { wrapped_->close(); }

    // The same for every decorator, so that a checked downcast recognises it and continues with wrapped().
    const void* family() const noexcept final { return familyTag(); }
    static const void* familyTag() noexcept {
        static const char tag = 0;
        return &tag;
    }
    IoHandler& wrapped() noexcept { return *wrapped_; }

  private:
    const std::unique_ptr<IoHandler> wrapped_;
};

}  // namespace weft
