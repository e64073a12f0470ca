// UringFiberReader: the reading half of a fiber's connection on io_uring. One multishot receive serves all reads; what it
// brings before a fiber asks for it is kept here.
#pragma once

#include <optional>
#include <span>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/ring.hpp>

#include "io_waiter.hpp"
#include "uring/uring_fiber_handle.hpp"

namespace weft {

class UringBuffers;

// The receive starts with the first read that has to wait. It is cancelled when a fiber leaves too many pieces unread, and
// started again by the first read that finds none. Context: as UringFiberHandle.
class UringFiberReader : public UringFiberHandle {
  protected:
    UringFiberReader(UringIoHandler& handler, Fd fd) noexcept : UringFiberHandle(handler, std::move(fd)), input_(inputKind, *this), hangUp_(hangUpKind, *this) {}

    // As FiberStream's readSome() and tryReadSome().
    std::size_t read(std::span<char> into, Deadline deadline, ErrorCode& error);
    Buffer read(std::size_t most, Deadline deadline, ErrorCode& error);
    std::size_t tryRead(std::span<char> into, ErrorCode& error) noexcept;

    // Ends the receive and the wait of the fiber that reads, and drops what was not read.
    void closeInput() noexcept;
    // After the last completion of an operation of this half. May destroy this.
    virtual void operationEnded() noexcept = 0;

    // The kernel reports a reset to the call that comes first, and takes it off the socket; later reads then look like an
    // orderly end, and later writes like writes after the own end of output. So it is noted here for all of them.
    void noteResult(int result) noexcept;
    // What a write's error is to its caller: the reset, if that is why it is refused.
    ErrorCode writeFailed(ssize_t result) noexcept;

  private:
    void dispatch() override;

    struct Operation : UringOperation {
        Operation(const Kind& kind, UringFiberReader& its) noexcept : UringOperation(kind, its.inFlight()), reader(its) {}
        UringFiberReader& reader;
    };
    static const UringOperation::Kind inputKind, hangUpKind;

    template <class Direct>
    ErrorCode awaitInput(std::size_t most, Deadline deadline, Direct direct);
    bool hasInput() const noexcept { return !arrived_.empty() || ended_; }
    template <class Direct>
    std::optional<ErrorCode> readNow(Direct direct);
    bool mayReceive() const noexcept;
    ErrorCode awaitReceive(std::size_t most, Deadline deadline);
    ErrorCode startReceive(std::size_t most) noexcept;
    bool receiveIsOver() noexcept;
    void onReceived(int result, unsigned flags) noexcept;
    void onHangUp(int events) noexcept;
    void onPiece(Buffer&& piece, unsigned flags) noexcept;
    bool isUnwanted(const Buffer& piece, unsigned flags) noexcept;
    UringBuffers& buffers() const noexcept;
    std::size_t copyInto(std::span<char> into) noexcept;
    ErrorCode takeEnd() noexcept;
    ErrorCode inputEnded(ssize_t result) noexcept;
    ErrorCode noteError(ssize_t result) noexcept;
    ErrorCode loss() const noexcept { return fromErrno(lost_); }
    ssize_t receiveDirectly(std::span<char> into, std::size_t& count) noexcept;
    ssize_t receiveDirectly(std::size_t most, Buffer& into) noexcept;

    detail::IoWaiter waiter_;
    Operation input_;
    Operation hangUp_;
    detail::Ring<Buffer> arrived_;
    int endedWith_ = 0;          // the receive's last result: 0 or an error
    bool ended_ = false;         // which no read has reported yet
    bool large_ = false;         // the receive takes large buffers
    bool wantsLarge_ = false;    // so shall the next one
    bool mayGetLarge_ = false;   // the last read wanted more than a small buffer holds
    bool hungUp_ = false;        // the peer has reset, or both sides have ended
    int lost_ = 0;               // the error that ended the connection
};

}  // namespace weft
