// A slow reader of a body stops the connection from reading. The memory held by the pieces of a body is bounded, no
// matter how small they are and how much of their blocks they use.
#include <weft/http/body_streamer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <weft/pipeline/buffer_pool.hpp>

#include "pipeline/http/streamed_server.hpp"

namespace weft::http {
namespace {

using test::chunkedPost;
using test::get;
using test::post;
using test::readAvailable;
using test::SlowPeer;
using test::SlowReader;

TEST(BodyStreamerPressure, AHandlerThatDoesNotReadStopsTheReadingAndAFewBytesAreHeld) {
    constexpr std::size_t size = 5'000'000;
    SlowReader server;
    server.peer.send(post(std::string(size, '#')));
    server.peer.deliver();
    EXPECT_FALSE(server.peer.channel.sink->wantsRead);
    BodyReader& body = server.kept.at(0).body;
    EXPECT_LE(body.available(), BodyReader::highMark + SlowPeer::readBytes);
    EXPECT_GE(server.peer.unread(), size - BodyReader::highMark - 2 * SlowPeer::readBytes);
}

TEST(BodyStreamerPressure, ASlowReaderGetsEverythingAndNeverHoldsMuch) {
    constexpr std::size_t size = 3'000'000;
    SlowReader server;
    server.peer.send(post(std::string(size, '#')));
    server.peer.deliver();
    BodyReader& body = server.kept.at(0).body;
    std::size_t read = 0;
    std::size_t most = 0;
    while (read < size) {
        most = std::max(most, body.available());
        ASSERT_GT(body.available(), 0u) << "the reading has not gone on after " << read;
        read += body.read()->readableBytes();
        server.peer.deliver();
    }
    EXPECT_EQ(read, size);
    EXPECT_LE(most, BodyReader::highMark + SlowPeer::readBytes);
    EXPECT_FALSE(body.read().has_value());
    EXPECT_GT(server.peer.channel.sink->count("wantRead 0"), 10u) << "the reading has stopped and gone on";
}

TEST(BodyStreamerPressure, ADroppedReaderLetsTheRestComeAndTheNextRequestToo) {
    SlowReader server;
    server.peer.send(post(std::string(3'000'000, '#')) + get);
    server.peer.deliver();
    ASSERT_EQ(server.kept.size(), 1u);
    server.kept[0].responder.send(ok("enough"));
    server.kept[0].body = BodyReader();
    server.peer.deliver();
    EXPECT_EQ(server.kept.size(), 2u);
    EXPECT_EQ(server.peer.unread(), 0u);
}

TEST(BodyStreamerPressure, TheBodiesOfPipelinedRequestsShareOneRoom) {
    SlowReader server;
    for (int i = 0; i < 10; ++i) server.peer.send(post(std::string(60'000, '#')));
    server.peer.deliver();
    std::size_t held = 0;
    for (const auto& kept : server.kept) held += kept.body.available();
    EXPECT_LE(held, BodyReader::highMark + SlowPeer::readBytes);
    EXPECT_GT(server.peer.unread(), 400'000u);
    for (std::size_t i = 0; i < 10; ++i) {
        ASSERT_GT(server.kept.size(), i);
        std::size_t read = 0;
        while (read < 60'000) {
            const std::string more = readAvailable(server.kept[i].body);
            ASSERT_FALSE(more.empty()) << i;
            read += more.size();
            server.peer.deliver();
        }
    }
}

std::string chunks(std::size_t count, const std::string& data) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", data.size());
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += size + data + "\r\n";
    return all;
}

TEST(BodyStreamerPressure, ManyPiecesOfOneByteHoldLittleMoreThanTheirBytes) {
    SlowReader server;
    const std::int64_t blocks = BufferPool::liveBlocks();
    server.peer.send(chunkedPost + chunks(1'000'000, "x"));
    server.peer.deliver();
    EXPECT_FALSE(server.peer.channel.sink->wantsRead);
    BodyReader& body = server.kept.at(0).body;
    EXPECT_LE(body.available(), BodyReader::highMark + SlowPeer::readBytes);
    // A few joined blocks of 16 KiB, and one with bytes that the codec has not decoded.
    EXPECT_LE(BufferPool::liveBlocks() - blocks, 12);
    std::size_t pieces = 0;
    for (const std::size_t most = body.available(); body.available() > 0; ++pieces) {
        ASSERT_LE(body.read()->readableBytes(), most);
    }
    EXPECT_LE(pieces, 12u);
}

TEST(BodyStreamerPressure, APieceCountsWithTheBlockThatItHolds) {
    SlowReader server;
    auto& channel = *server.peer.channel.channel;
    const std::string piece = chunks(1, std::string(2000, '#'));
    server.peer.send(chunkedPost);
    server.peer.deliver();
    int delivered = 0;
    for (; server.peer.channel.sink->wantsRead && delivered < 100; ++delivered) {
        Buffer large = Buffer::allocate(64 * 1024);
        large.append(piece);
        channel.onRead(std::move(large));
        channel.onReadComplete();
        server.peer.channel.run();
    }
    EXPECT_LE(delivered, 3) << "each of 64 KiB";
    BodyReader& body = server.kept.at(0).body;
    EXPECT_EQ(body.available(), static_cast<std::size_t>(delivered) * 2000);
    while (body.available() > 0) body.read();
    EXPECT_TRUE(server.peer.channel.sink->wantsRead) << "the reading goes on";
}

TEST(BodyStreamerPressure, NeighboursInOneBlockCountOnce) {
    SlowReader server;
    auto& channel = *server.peer.channel.channel;
    server.peer.send(chunkedPost);
    server.peer.deliver();
    Buffer some = Buffer::allocate(16 * 1024);
    some.append(chunks(7, std::string(2000, '#')));
    channel.onRead(std::move(some));
    channel.onReadComplete();
    server.peer.channel.run();
    EXPECT_TRUE(server.peer.channel.sink->wantsRead) << "16 KiB are held";
    BodyReader& body = server.kept.at(0).body;
    for (int i = 0; i < 7; ++i) EXPECT_EQ(body.read()->readableBytes(), 2000u);
    EXPECT_EQ(body.available(), 0u);
}

TEST(BodyStreamerPressure, PiecesOfAnySizeComeOutInTheirOrder) {
    SlowReader server;
    std::string all;
    server.peer.send(chunkedPost);
    server.peer.deliver();
    BodyReader& body = server.kept.at(0).body;
    std::string read;
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t size = 1 + (i * i * 37) % 3000;  // small pieces are copied, larger ones not
        const std::string data(size, static_cast<char>('a' + i % 26));
        all += data;
        server.peer.send(chunks(1, data));
        server.peer.deliver();
        if (i % 7 == 3) read += readAvailable(body);
    }
    while (read.size() < all.size()) {
        const std::string more = readAvailable(body);
        ASSERT_FALSE(more.empty()) << read.size();
        read += more;
        server.peer.deliver();
    }
    EXPECT_EQ(read, all);
}

}  // namespace
}  // namespace weft::http
