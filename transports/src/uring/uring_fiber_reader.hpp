// UringFiberReader: the reading half of a fiber's connection on io_uring. One receive into small buffers serves all
// reads and keeps the bytes that arrive before a fiber reads them; large buffers are received one by one.
#pragma once

#include <optional>
#include <span>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/ring.hpp>

#include "io_waiter.hpp"
#include "uring/uring_fiber_handle.hpp"

namespace weft {

class UringBuffers;

// The first read that has to wait starts the receive. The receive is cancelled when a fiber leaves too many pieces
// unread, and restarted by the first read that finds none. Context: as for UringFiberHandle.
class UringFiberReader : public UringFiberHandle {
  protected:
    UringFiberReader(UringIoHandler& handler, Fd fd) noexcept
        : UringFiberHandle(handler, std::move(fd)), input_(inputKind, *this), hangUp_(hangUpKind, *this) {}

    // As FiberStream's readSome() and tryReadSome().
    std::size_t read(std::span<char> into, Deadline deadline, ErrorCode& error);
    Buffer read(std::size_t most, Deadline deadline, ErrorCode& error);
    std::size_t tryRead(std::span<char> into, ErrorCode& error) noexcept;

    void interrupt() noexcept { waiter_.interrupt(); }
    // Ends the receive, wakes the fiber that reads, and drops unread bytes.
    void closeInput() noexcept;
    // Called after the last completion of an operation of this half. May destroy this object.
    virtual void operationEnded() noexcept = 0;

    // Records an error that ends the connection. The kernel reports a reset to the first call only: after that, reads
    // look like an orderly end, and writes like writes after shutdownOutput().
    void noteResult(int result) noexcept;
    // The error that a write reports: the reset, if that is why the write failed.
    ErrorCode writeFailed(ssize_t result) noexcept;

  private:
    void dispatch() override;

    struct Operation : UringOperation {
        Operation(const Kind& kind, UringFiberReader& owner) noexcept
            : UringOperation(kind, owner.inFlight()), reader(owner) {}
        UringFiberReader& reader;
    };
    static const UringOperation::Kind inputKind, hangUpKind;

    template <class Direct>
    ErrorCode awaitInput(std::size_t most, Deadline deadline, Direct direct);
    bool hasInput() const noexcept { return !arrived_.empty() || ended_; }
    template <class Direct>
    std::optional<ErrorCode> readNow(Direct direct);
    bool mayReceive() const noexcept { return isOpen() && lost_ != ENOMEM && isRegistered() && Suspension::allowed(); }
    ErrorCode startReceive(std::size_t most) noexcept;
    bool receiveIsOver() noexcept;
    void onReceived(int result, unsigned flags) noexcept;
    void onHangUp(int events) noexcept;
    void onPiece(Buffer&& piece, unsigned flags) noexcept;
    bool isUnwanted(const Buffer& piece, unsigned flags) noexcept;
    UringBuffers& buffers() const noexcept;
    std::size_t copyInto(std::span<char> into) noexcept;
    ErrorCode inputEnded(ssize_t result) noexcept;
    ErrorCode noteError(ssize_t result) noexcept;
    ErrorCode loss() const noexcept { return fromErrno(lost_); }
    ssize_t receiveDirectly(std::span<char> into, std::size_t& count) noexcept;
    ssize_t receiveDirectly(std::size_t most, Buffer& into) noexcept;

    detail::IoWaiter waiter_;
    Operation input_;
    Operation hangUp_;
    detail::Ring<Buffer> arrived_;
    int endedWith_ = 0;         // the receive's last result: 0 or an error
    bool ended_ = false;        // not yet reported to a read
    bool large_ = false;        // the receive takes large buffers
    bool wantsLarge_ = false;   // the next receive should take large buffers
    bool mayGetLarge_ = false;  // the last read asked for more than a small buffer holds
    bool hungUp_ = false;       // the peer has reset, or both directions have ended
    int lost_ = 0;              // the error that ended the connection
};

}  // namespace weft
