// Counts the messages that come back from an echo server, and compares them if asked to: every message is the same.
// One reader per connection; the counterpart of ResponseReader. Knows nothing of sockets and time.
#pragma once

#include "response_reader.hpp"

namespace weft::perf {

// A byte's value depends on its position, so no part of a message can be mistaken for another part.
inline std::string echoMessage(std::size_t bytes) {
    std::string message(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) message[i] = static_cast<char>(i * 31 + i / 256);
    return message;
}

class EchoReader {
  public:
    // `message` must outlive the reader.
    EchoReader(std::string_view message, bool compare) : message_(message), compare_(compare) {}

    ResponseReader::Batch consume(const char* data, std::size_t size) {
        ResponseReader::Batch batch;
        while (size > 0) {
            const std::size_t taken = std::min(size, message_.size() - at_);
            if (compare_ && memcmp(data, message_.data() + at_, taken) != 0)
                batch.failure = "other bytes than were sent";
            at_ += taken;
            data += taken;
            size -= taken;
            if (at_ < message_.size()) continue;
            at_ = 0;
            ++batch.responses;
        }
        return batch;
    }

  private:
    std::string_view message_;
    bool compare_;
    std::size_t at_ = 0;  // within the message being received
};

}  // namespace weft::perf
