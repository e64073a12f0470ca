// TcpStream: the context checks, the throwing overloads, and the loops over partial reads and writes. The transport's
// FiberStream performs the individual operations.
#include <weft/transports/tcp_stream.hpp>

#include <array>
#include <string>

#include <weft/scheduler/carrier.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "fiber_home.hpp"

namespace weft {

namespace {

constexpr std::size_t partsPerCall = 64;
constexpr std::size_t fewParts = 4;  // of most calls: their frame stays small

iovec toIovec(std::string_view part) noexcept {
    return {const_cast<char*>(part.data()), part.size()};
}

// Drops `bytes` from the front of `parts`, then the empty parts at the front.
std::span<iovec> dropFront(std::span<iovec> parts, std::size_t bytes) noexcept {
    while (!parts.empty() && bytes >= parts.front().iov_len) {
        bytes -= parts.front().iov_len;
        parts = parts.subspan(1);
    }
    if (bytes > 0) {
        parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + bytes;
        parts.front().iov_len -= bytes;
    }
    return parts;
}

// Moves the first non-empty parts, at most `Most`, from `parts` to an array.
template <std::size_t Most>
class Batch {
  public:
    explicit Batch(std::span<const std::string_view>& parts) noexcept {
        for (; count_ < Most && !parts.empty(); parts = parts.subspan(1)) {
            if (!parts.front().empty()) batch_[count_++] = toIovec(parts.front());
        }
    }
    std::span<iovec> get() noexcept { return {batch_.data(), count_}; }

  private:
    std::array<iovec, Most> batch_;
    std::size_t count_ = 0;
};

std::size_t writeAll(FiberStream& stream, std::span<iovec> parts, Deadline deadline, ErrorCode& error) {
    std::size_t written = 0;
    for (parts = dropFront(parts, 0); !parts.empty();) {
        const std::size_t count = stream.writeSome(parts, deadline, error);
        written += count;
        if (error) break;
        parts = dropFront(parts, count);
    }
    return written;
}

template <std::size_t Most>
[[gnu::noinline]] std::size_t writeInBatches(FiberStream& stream, std::span<const std::string_view> parts,
                                             Deadline deadline, ErrorCode& error) {
    std::size_t written = 0;
    while (!error && !parts.empty()) {
        Batch<Most> batch(parts);
        written += writeAll(stream, batch.get(), deadline, error);
    }
    return written;
}

template <std::size_t Most>
[[gnu::noinline]] std::size_t tryWriteBatch(FiberStream& stream, std::span<const std::string_view> parts,
                                            ErrorCode& error) {
    Batch<Most> batch(parts);
    return batch.get().empty() ? 0 : stream.tryWriteSome(batch.get(), error);
}

}  // namespace

TcpStream TcpStream::connect(const SocketAddress& remote, Deadline deadline) {
    ErrorCode error;
    TcpStream stream = connect(remote, deadline, error);
    if (error) throw SystemError(error, "TcpStream::connect to " + remote.toString());
    return stream;
}

TcpStream TcpStream::connect(const SocketAddress& remote, Deadline deadline, ErrorCode& error) {
    Carrier& carrier = detail::requireFiberCarrier("TcpStream::connect");
    SocketIoHandler* handler = detail::requireSockets(carrier, "TcpStream::connect", error);
    if (!handler) return {};
    Fd fd = openTcpSocket(remote.family(), handler->systemCalls(), error);
    if (error) return {};
    TcpStream stream(carrier, handler->fiberStream(std::move(fd)));
    stream.setOption(SocketOption::noDelay, 1);  // an error is ignored: the stream works without the option
    error = stream.stream_->connect(remote, deadline);
    return error ? TcpStream() : std::move(stream);
}

TcpStream::TcpStream() noexcept = default;
TcpStream::TcpStream(Carrier& carrier, std::unique_ptr<FiberStream> stream) noexcept
    : carrier_(&carrier), stream_(std::move(stream)) {}
TcpStream::TcpStream(TcpStream&&) noexcept = default;
TcpStream& TcpStream::operator=(TcpStream&& other) noexcept {
    if (stream_) detail::comeHomeTo(*carrier_);
    carrier_ = other.carrier_;
    stream_ = std::move(other.stream_);
    deadline_ = other.deadline_;
    return *this;
}
TcpStream::~TcpStream() {
    if (stream_) detail::comeHomeTo(*carrier_);
}

FiberStream* TcpStream::usable(const char* call, ErrorCode& error) const {
    error = {};
    if (!stream_) {
        error = operationAborted();
        return nullptr;
    }
    detail::requireHome(*carrier_, call);
    return stream_.get();
}

std::size_t TcpStream::read(std::span<char> into, ErrorCode& error) {
    FiberStream* stream = usable("TcpStream::read", error);
    if (!stream || into.empty()) return 0;
    return stream->readSome(into, deadline_, error);
}

std::size_t TcpStream::read(std::span<char> into) {
    ErrorCode error;
    const std::size_t count = read(into, error);
    throwIf(error, "TcpStream::read");
    return count;
}

Buffer TcpStream::read(std::size_t most, ErrorCode& error) {
    FiberStream* stream = usable("TcpStream::read", error);
    if (!stream || most == 0) return {};
    return stream->readSome(most, deadline_, error);
}

Buffer TcpStream::read(std::size_t most) {
    ErrorCode error;
    Buffer bytes = read(most, error);
    throwIf(error, "TcpStream::read");
    return bytes;
}

std::size_t TcpStream::readExactly(std::span<char> into, ErrorCode& error) {
    std::size_t filled = 0;
    error = {};
    while (filled < into.size()) {
        const std::size_t count = read(into.subspan(filled), error);
        if (!error && count == 0) error = endOfStream();
        if (error) break;
        filled += count;
    }
    return filled;
}

void TcpStream::readExactly(std::span<char> into) {
    ErrorCode error;
    readExactly(into, error);
    throwIf(error, "TcpStream::readExactly");
}

std::size_t TcpStream::write(std::string_view bytes, ErrorCode& error) {
    FiberStream* stream = usable("TcpStream::write", error);
    if (!stream) return 0;
    iovec part = toIovec(bytes);
    return writeAll(*stream, {&part, 1}, deadline_, error);
}

void TcpStream::write(std::string_view bytes) {
    ErrorCode error;
    write(bytes, error);
    throwIf(error, "TcpStream::write");
}

std::size_t TcpStream::writeParts(std::span<const std::string_view> parts, ErrorCode& error) {
    FiberStream* stream = usable("TcpStream::write", error);
    if (!stream) return 0;
    return parts.size() <= fewParts ? writeInBatches<fewParts>(*stream, parts, deadline_, error)
                                    : writeInBatches<partsPerCall>(*stream, parts, deadline_, error);
}

void TcpStream::writeParts(std::span<const std::string_view> parts) {
    ErrorCode error;
    writeParts(parts, error);
    throwIf(error, "TcpStream::write");
}

std::size_t TcpStream::tryRead(std::span<char> into, ErrorCode& error) {
    FiberStream* stream = usable("TcpStream::tryRead", error);
    return !stream || into.empty() ? 0 : stream->tryReadSome(into, error);
}

std::size_t TcpStream::tryWrite(std::initializer_list<std::string_view> parts, ErrorCode& error) {
    FiberStream* stream = usable("TcpStream::tryWrite", error);
    if (!stream) return 0;
    const std::span<const std::string_view> all(parts.begin(), parts.size());
    return all.size() <= fewParts ? tryWriteBatch<fewParts>(*stream, all, error)
                                  : tryWriteBatch<partsPerCall>(*stream, all, error);
}

void TcpStream::shutdownOutput(ErrorCode& error) {
    if (FiberStream* stream = usable("TcpStream::shutdownOutput", error)) error = stream->shutdownOutput(deadline_);
}

void TcpStream::shutdownOutput() {
    ErrorCode error;
    shutdownOutput(error);
    throwIf(error, "TcpStream::shutdownOutput");
}

void TcpStream::close() noexcept {
    if (!stream_) return;
    detail::comeHomeTo(*carrier_);
    stream_->close();
}

bool TcpStream::isOpen() const noexcept {
    return stream_ && stream_->isOpen();
}

ErrorCode TcpStream::setOption(SocketOption option, int value) {
    ErrorCode error;
    FiberStream* stream = usable("TcpStream::setOption", error);
    return stream ? stream->setOption(option, value) : error;
}

ErrorCode TcpStream::getOption(SocketOption option, int& value) const {
    ErrorCode error;
    FiberStream* stream = usable("TcpStream::getOption", error);
    return stream ? stream->getOption(option, value) : error;
}

std::unique_ptr<FiberStream> TcpStream::release() noexcept {
    return std::move(stream_);
}

bool TcpStream::holdsInput() const noexcept {
    return stream_ && stream_->holdsInput();
}

std::string_view TcpStream::errorText() const noexcept {
    return stream_ ? stream_->errorText() : std::string_view();
}

void TcpStream::throwIf(const ErrorCode& error, const char* call) const {
    if (!error) return;
    const std::string_view more = errorText();
    throw SystemError(error, more.empty() ? call : call + (" (" + std::string(more) + ")"));
}

SocketAddress TcpStream::localAddress() const {
    return stream_ ? stream_->localAddress() : SocketAddress();
}
SocketAddress TcpStream::remoteAddress() const {
    return stream_ ? stream_->remoteAddress() : SocketAddress();
}

}  // namespace weft
