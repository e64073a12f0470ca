// What a load generator sends: blocks of pipelined requests of one size. Plain requests are all equal. Varied ones have
// the headers of a browser, a cookie for each connection, and an id for each request. All text is made in advance
// except the ids, which next() writes into it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../support/ids.hpp"

namespace weft::perf {

class RequestBlocks {
  public:
    RequestBlocks() = default;

    // `depth` times `request`, for all connections.
    static RequestBlocks same(const std::string& request, unsigned depth) {
        RequestBlocks made;
        made.size_ = request.size();
        made.blocks_.push_back(repeated(request, depth));
        return made;
    }

    // `depth` requests that begin with `head` (request line and Host), for each of `connections`.
    static RequestBlocks varied(const std::string& head, unsigned depth, unsigned connections) {
        RequestBlocks made;
        for (unsigned connection = 0; connection < connections; ++connection) {
            const std::string cookie = "Cookie: session=" + idOf(~std::uint64_t(connection)) + "\r\n";
            const std::string untilId = head + browserHeaders + cookie + "X-Request-Id: ";
            const std::string request = untilId + idOf(0) + "\r\n\r\n";
            made.idAt_ = untilId.size();
            made.size_ = request.size();
            made.blocks_.push_back(repeated(request, depth));
        }
        return made;
    }

    // The next `count` requests of a connection. Valid until the next call for that connection.
    std::string_view next(unsigned connection, unsigned count) {
        if (idAt_ == 0) return std::string_view(blocks_.front()).substr(0, count * size_);
        std::string& block = blocks_[connection];
        for (unsigned i = 0; i < count; ++i) writeId(block.data() + i * size_ + idAt_, ++ids_);
        return std::string_view(block).substr(0, count * size_);
    }

  private:
    static constexpr const char* browserHeaders =
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
        "Accept-Language: en-US,en;q=0.5\r\n"
        "Accept-Encoding: gzip, deflate, br\r\n"
        "Connection: keep-alive\r\n"
        "Upgrade-Insecure-Requests: 1\r\n"
        "Sec-Fetch-Mode: navigate\r\n";

    static std::string repeated(const std::string& request, unsigned times) {
        std::string block;
        for (unsigned i = 0; i < times; ++i) block += request;
        return block;
    }

    std::size_t size_ = 0;             // of one request
    std::size_t idAt_ = 0;             // where its id begins; 0: it has none
    std::vector<std::string> blocks_;  // one, or one for each connection
    std::uint64_t ids_ = 0;
};

}  // namespace weft::perf
