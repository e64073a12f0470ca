// ResponseAggregator behind the client codec: it joins a response's head, body and trailers, and refuses large bodies.
#include <weft/http/response_aggregator.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/client_codec.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "pipeline/http/codec_client.hpp"

namespace weft::http {
namespace {

using test::Recorder;

struct CollectingClient {
    explicit CollectingClient(std::size_t maxBody) {
        channel.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"});
        channel.pipeline().addLast<ResponseAggregator>(maxBody).addLast<Recorder>(log);
        for (int i = 0; i < 2; ++i) channel.channel().writeAndFlush(Message(ClientRequest()));
    }
    std::string answer(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        return std::exchange(log, {});
    }
    std::string log;
    EmbeddedChannel channel;
};

TEST(ResponseAggregator, JoinsHeadBodyAndTrailers) {
    CollectingClient client(10);
    EXPECT_EQ(client.answer(
                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 7\r\n\r\n"),
              "full abc7 ");
    EXPECT_EQ(client.answer("HTTP/1.1 204 N\r\n\r\n"), "full  ");
}

TEST(ResponseAggregator, ABodyThatIsTooLargeClosesTheConnection) {
    const std::string large = "(bad HTTP response: the response body is larger than this client accepts) ";
    for (const char* bytes :
         {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", "HTTP/1.1 200 OK\r\n\r\nabcd"}) {
        CollectingClient client(3);
        EXPECT_EQ(client.answer(bytes).substr(0, large.size()), large) << bytes;
        EXPECT_FALSE(client.channel.active());
    }
    EXPECT_THROW(ResponseAggregator(std::size_t{3} << 30), std::invalid_argument);
}

}  // namespace
}  // namespace weft::http
