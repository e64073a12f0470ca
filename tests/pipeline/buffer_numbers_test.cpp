// Numbers in a Buffer: byte orders, bounds, positions.
#include <weft/pipeline/buffer.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::string_view_literals;

enum class Opcode : std::uint16_t { hello = 0x0102 };

TEST(BufferNumbers, AreWrittenInNetworkByteOrderUnlessToldOtherwise) {
    Buffer buffer = Buffer::allocate(1);
    buffer.write<std::uint8_t>(0xFF);
    buffer.write<std::uint16_t>(0x0102);
    buffer.write<std::uint32_t>(0x01020304);
    buffer.write<std::uint32_t>(0x01020304, std::endian::little);
    buffer.write<Opcode>(Opcode::hello);
    EXPECT_EQ(buffer.view(), "\xFF\x01\x02\x01\x02\x03\x04\x04\x03\x02\x01\x01\x02"sv);
}

template <class T>
void roundTrip(T value) {
    for (const std::endian order : {std::endian::big, std::endian::little}) {
        Buffer buffer = Buffer::allocate(0);
        buffer.append("x");
        buffer.write<T>(value, order);
        EXPECT_EQ(buffer.get<T>(1, order), value);
        buffer.consumed(1);
        EXPECT_EQ(buffer.read<T>(order), value);
        EXPECT_TRUE(buffer.empty());
    }
}

TEST(BufferNumbers, EveryTypeSurvivesTheRoundTrip) {
    roundTrip<std::int8_t>(-1);
    roundTrip<char>('c');
    roundTrip<std::int16_t>(std::numeric_limits<std::int16_t>::min());
    roundTrip<std::int32_t>(-2);
    roundTrip<std::uint64_t>(0x0102030405060708);
    roundTrip<std::int64_t>(std::numeric_limits<std::int64_t>::min());
    roundTrip<float>(-0.1f);
    roundTrip<double>(std::numeric_limits<double>::denorm_min());
    roundTrip<Opcode>(Opcode::hello);
}

TEST(BufferNumbers, TooFewBytesThrowAndRemoveNothing) {
    Buffer buffer = Buffer::copyOf("abc");
    EXPECT_THROW(buffer.read<std::uint32_t>(), std::out_of_range);
    EXPECT_THROW(static_cast<void>(buffer.get<std::uint16_t>(2)), std::out_of_range);
    EXPECT_THROW(static_cast<void>(buffer.get<std::uint8_t>(3)), std::out_of_range);
    EXPECT_THROW(static_cast<void>(buffer.get<std::uint8_t>(std::numeric_limits<std::size_t>::max())),
                 std::out_of_range);
    EXPECT_EQ(buffer.view(), "abc");
    EXPECT_EQ(buffer.get<char>(2), 'c');
    EXPECT_THROW(Buffer().read<char>(), std::out_of_range);
    try {
        buffer.read<std::uint64_t>();
    } catch (const std::out_of_range& error) {
        EXPECT_STREQ(error.what(), "a Buffer of 3 readable bytes has no integer of 8 bytes at offset 0");
    }
}

TEST(BufferNumbers, AWriteToASharedBufferLeavesTheOtherOwnerAlone) {
    Buffer buffer = Buffer::copyOf("ab");
    const Buffer other = buffer.share();
    buffer.write<std::uint16_t>(0x6364);
    EXPECT_EQ(buffer.view(), "abcd");
    EXPECT_EQ(other.view(), "ab");
    Buffer literal = Buffer::wrapStatic("x");
    literal.write<char>('y');
    EXPECT_EQ(literal.view(), "xy");
}

TEST(BufferNumbers, IndexOfFindsBytesAmongTheReadableOnes) {
    Buffer buffer = Buffer::copyOf("..GET / GET");
    buffer.consumed(2);
    EXPECT_EQ(buffer.indexOf("GET"), 0u);
    EXPECT_EQ(buffer.indexOf("GET", 1), 6u);
    EXPECT_EQ(buffer.indexOf('/'), 4u);
    EXPECT_EQ(buffer.indexOf('.'), Buffer::npos);
    EXPECT_EQ(buffer.indexOf("GET", 7), Buffer::npos);
    EXPECT_EQ(buffer.indexOf('G', 1000), Buffer::npos);
    EXPECT_EQ(Buffer().indexOf('x'), Buffer::npos);
}

}  // namespace
}  // namespace weft
