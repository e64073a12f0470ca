#include <weft/pipeline/codec/byte_reader.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/codec/fiber_decoder.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

namespace {

// The fiber, and all who wake it, run on one carrier and suspend nowhere else.
struct SameCarrier {
    void lock() noexcept {}
    void unlock() noexcept {}
};
SameCarrier sameCarrier;

}  // namespace

bool ByteReader::hasMore() {
    return waitFor(1, "ByteReader::hasMore");
}

Buffer ByteReader::read(std::size_t n) {
    require(n, "ByteReader::read");
    return take(n);
}

// Searches each byte once, but for the start of a delimiter at the end of what has arrived.
Buffer ByteReader::readUntil(std::string_view delimiter) {
    if (delimiter.empty()) throw std::invalid_argument("ByteReader::readUntil(): the delimiter is empty");
    std::size_t searched = 0;
    while (true) {
        const std::size_t found = bytes_.indexOf(delimiter, searched);
        const std::size_t frame = std::min(found, available());
        if (frame > maxRead_) {
            throw TooLongFrameException("ByteReader::readUntil(): no delimiter within " + std::to_string(maxRead_) +
                                        " bytes, the decoder's maxRead");
        }
        if (found != Buffer::npos) {
            require(found + delimiter.size(), "ByteReader::readUntil");
            Buffer result = bytes_.split(found);
            bytes_.consumed(delimiter.size());
            removed();
            return result;
        }
        searched = available() - std::min(available(), delimiter.size() - 1);
        if (!waitFor(available() + 1, "ByteReader::readUntil")) {
            throw EndOfInputException("the input ended after " + std::to_string(available()) +
                                      " bytes of a frame, before its delimiter");
        }
    }
}

Buffer ByteReader::readLine() {
    Buffer line = readUntil("\n");
    if (!line.view().ends_with('\r')) return line;
    return line.split(line.readableBytes() - 1);
}

Buffer ByteReader::readSome(std::size_t most) {
    return waitFor(1, "ByteReader::readSome") ? take(std::min(most, available())) : Buffer();
}

void ByteReader::skip(std::size_t n) {
    while (n > 0) {
        require(1, "ByteReader::skip");
        const std::size_t part = std::min(n, available());
        bytes_.consumed(part);
        n -= part;
        removed();
    }
}

// Returns false if the input ends before `n` bytes are readable.
bool ByteReader::waitFor(std::size_t n, const char* call) {
    const auto arrived = [&] { return closed_ || ended_ || available() >= n; };
    if (!arrived()) {
        needed_ = n;
        decoder_.beforeWait();  // calls handlers, which may close the channel
        const ErrorCode error = fiber_.waitUntil(sameCarrier, never, call, arrived);
        needed_ = 0;
        if (error) throw SystemError(error, call);
    }
    if (closed_) throw SystemError(operationAborted(), call);
    return available() >= n;
}

void ByteReader::require(std::size_t n, const char* call) {
    if (n > maxRead_) {
        throw TooLongFrameException(std::string(call) + "(): " + std::to_string(n) +
                                    " bytes, more than the decoder's maxRead of " + std::to_string(maxRead_));
    }
    if (!waitFor(n, call)) {
        throw EndOfInputException("the input ended after " + std::to_string(available()) + " of " + std::to_string(n) +
                                  " bytes");
    }
}

Buffer ByteReader::take(std::size_t n) {
    Buffer result = bytes_.split(n);
    removed();
    return result;
}

// An empty buffer must not keep its block.
void ByteReader::removed() {
    if (bytes_.empty()) bytes_ = Buffer();
    decoder_.bytesRemoved();
}

void ByteReader::add(Buffer&& bytes) {
    if (bytes_.empty()) {
        bytes_ = std::move(bytes);
    } else {
        bytes_.append(bytes.view());
    }
    if (needed_ > 0 && available() >= needed_) fiber_.wakeAll();
}

void ByteReader::end() noexcept {
    ended_ = true;
    fiber_.wakeAll();
}

void ByteReader::close() noexcept {
    closed_ = true;
    fiber_.wakeAll();
}

}  // namespace weft
