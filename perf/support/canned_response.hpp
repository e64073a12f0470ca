// The answer that every server of the `Hello, World!` scenarios gives: 130 bytes, so that all move the same payload.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "ids.hpp"

namespace weft::perf {

inline constexpr std::string_view cannedResponse = "HTTP/1.1 200 OK\r\n"
                                                   "Server: floor\r\n"
                                                   "Content-Type: text/plain\r\n"
                                                   "Date: Fri, 01 Jan 2021 00:00:00 GMT\r\n"
                                                   "Content-Length: 13\r\n"
                                                   "\r\n"
                                                   "Hello, World!";
static_assert(cannedResponse.size() == 130);

// The same with a header whose value each answer replaces (response_varied).
inline constexpr std::string_view cannedResponseWithId = "HTTP/1.1 200 OK\r\n"
                                                         "Server: floor\r\n"
                                                         "Content-Type: text/plain\r\n"
                                                         "X-Request-Id: 0123456789abcdef\r\n"
                                                         "Date: Fri, 01 Jan 2021 00:00:00 GMT\r\n"
                                                         "Content-Length: 13\r\n"
                                                         "\r\n"
                                                         "Hello, World!";
static_assert(cannedResponseWithId.size() == 162);

// Many responses in a row, for a floor that answers a batch with one write.
template <bool withId = false>
class CannedBlock {
  public:
    static constexpr std::string_view response = withId ? cannedResponseWithId : cannedResponse;

    CannedBlock() {
        for (std::size_t i = 0; i < responses; ++i) block_.append(response);
    }
    // Gives the next `count` answers new ids. An answer that a full socket cuts may end with the id of another one.
    void begin(std::size_t count) {
        if constexpr (withId) {
            constexpr std::size_t idAt = response.find("0123456789abcdef");
            for (std::size_t i = 0; i < std::min(count, responses); ++i)
                writeId(block_.data() + i * response.size() + idAt, ++ids_);
        }
    }
    // The next bytes to send to a connection that is owed `bytes`; perhaps not all of them.
    std::string_view owed(std::size_t bytes) const {
        constexpr std::size_t size = response.size();
        const std::size_t phase = (size - bytes % size) % size;  // bytes of the first answer that were sent before
        return std::string_view(block_).substr(phase, std::min(bytes, block_.size() - phase));
    }

  private:
    static constexpr std::size_t responses = 512;
    std::string block_;
    std::uint64_t ids_ = 0;
};

inline constexpr std::string_view notFoundResponse = "HTTP/1.1 404 Not Found\r\n"
                                                     "Server: floor\r\n"
                                                     "Content-Length: 0\r\n"
                                                     "\r\n";

}  // namespace weft::perf
