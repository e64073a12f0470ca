// IoHandlerDecorator: a handler that wraps another one and passes every call on; derive from it to count, measure or
// disturb what an event loop and its transport say to each other.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include <weft/scheduler/io_handler.hpp>

namespace weft {

// Context, blocking, throws and ordering of every call: as IoHandler's; an override that blocks or throws where the
// contract does not allow it breaks the loop. Cost: one more virtual call for each call of the loop, of which a turn
// has one (poll); streams and channels call their transport directly and pay nothing. A PollGuard goes on to the
// wrapped handler, which asks it: an override neither enters nor leaves it.
class IoHandlerDecorator : public IoHandler {
  public:
    // Throws std::invalid_argument for null.
    explicit IoHandlerDecorator(std::unique_ptr<IoHandler> wrapped) : wrapped_(std::move(wrapped)) {
        if (!wrapped_) throw std::invalid_argument("IoHandlerDecorator: null; give it the handler that it is to wrap");
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

    // Always IoHandlerDecorator's: downcasts go on in wrapped().
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
