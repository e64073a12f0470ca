// What the head of one request says: request line, header table, framing decision. A plain value without the bytes.
// Filled in by RequestHeadParser, read by the codec. All texts are offsets from the first byte of the message, so the
// bytes may move to another buffer and the value stays good.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <weft/pipeline/http/method.hpp>
#include <weft/pipeline/http/version.hpp>

namespace weft::http {

// A text inside a message: `offset` bytes from the first byte of the message, `size` bytes long.
struct Slice {
    std::uint32_t offset;
    std::uint32_t size;

    // `message` begins with the first byte of the message and reaches at least to the end of this text.
    std::string_view in(std::string_view message) const noexcept { return {message.data() + offset, size}; }
    bool empty() const noexcept { return size == 0; }
};

// One header line; the value is without the white space around it.
struct HeaderField {
    Slice name;
    Slice value;
};

// The header lines of one message, in order. Allocates only beyond `inlineCapacity` lines, and keeps that memory.
class HeaderTable {
  public:
    static constexpr std::size_t inlineCapacity = 32;

    HeaderTable() noexcept {}  // leaves its room uninitialised
    HeaderTable(const HeaderTable& other) { *this = other; }
    // Copies the fields, not the room: most requests have a handful, so a library call would cost more than the copy.
    HeaderTable& operator=(const HeaderTable& other) {
        if (other.size_ > inlineCapacity) [[unlikely]]
            spilled_ = other.spilled_;
        else
            for (std::size_t i = 0; i < other.size_; ++i) inline_[i] = other.inline_[i];
        size_ = other.size_;
        return *this;
    }

    void add(const HeaderField& field) {
        if (size_ < inlineCapacity) [[likely]]
            inline_[size_] = field;
        else
            spill(field);
        ++size_;
    }
    void clear() noexcept { size_ = 0; }

    // For a parser that fills in fields by itself: unused inline slots, as many as keep size() at or below `limit`;
    // then added() says how many of them, from the first on, are now fields.
    std::span<HeaderField> inlineRoom(std::size_t limit) noexcept {
        const std::size_t end = limit < inlineCapacity ? limit : inlineCapacity;
        return {inline_.data() + size_, size_ < end ? end - size_ : 0};
    }
    void added(std::ptrdiff_t count) noexcept { size_ += static_cast<std::uint32_t>(count); }

    std::size_t size() const noexcept { return size_; }
    std::span<const HeaderField> fields() const noexcept {
        return {size_ <= inlineCapacity ? inline_.data() : spilled_.data(), size_};
    }
    const HeaderField* begin() const noexcept { return fields().data(); }
    const HeaderField* end() const noexcept { return fields().data() + size_; }

    // The first field with this name (case-insensitive), or null. Linear.
    const HeaderField* find(std::string_view name, std::string_view message) const noexcept;

  private:
    void spill(const HeaderField& field);

    std::uint32_t size_ = 0;
    std::array<HeaderField, inlineCapacity> inline_;
    std::vector<HeaderField> spilled_;  // all fields, once there are more than inlineCapacity
};

// RFC 9112, 3.2. `authority` only with CONNECT, `asterisk` only with OPTIONS.
enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };

// How the end of the body is found (RFC 9112, 6.3). A request without Content-Length and Transfer-Encoding has none.
enum class BodyKind : std::uint8_t { none, length, chunked };

struct RequestHead {
    // The codec's slot for the answer has these four too, in the same order: one copy takes them.
    Method method = Method::other;
    Version version = Version::http11;
    // The client lets the connection live on after the response (version default, `Connection` options; close wins).
    bool keepAlive = false;
    // HTTP/1.1 with an `Upgrade` header and the `upgrade` connection option.
    bool upgrade = false;

    TargetForm targetForm = TargetForm::origin;
    BodyKind bodyKind = BodyKind::none;
    // HTTP/1.1 with `Expect: 100-continue` and a body: the client waits for 100 before it sends the body.
    bool expectContinue = false;
    // Some other expectation, which a server may answer with 417.
    bool expectUnknown = false;
    bool hasHost = false;

    std::uint32_t consumed = 0;       // bytes of the head, with an empty line before and the empty line after it
    std::uint32_t pathSize = 0;       // bytes of the target in front of its query
    std::uint64_t contentLength = 0;  // bytes of the body for BodyKind::length, at most 2^63 - 1
    Slice methodText{};               // also for a Method::other
    Slice target{};
    Slice authority{};  // host[:port] asked for: of the target if it has one, else the Host value
    HeaderTable headers;

    // At least one byte of body, or the last chunk of an empty one, follows the head.
    bool hasBody() const noexcept {
        return bodyKind == BodyKind::chunked || (bodyKind == BodyKind::length && contentLength != 0);
    }
};

}  // namespace weft::http
