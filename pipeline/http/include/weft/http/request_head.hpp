// RequestHead: the parsed head of one request: request line, header table, framing decision. A plain value without the
// bytes. Filled in by RequestHeadParser, read by the codec. All texts are offsets from the first byte of the message,
// so they stay valid when the bytes move to another buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <weft/http/method.hpp>
#include <weft/http/version.hpp>

namespace weft::http {

// A text inside a message: `offset` bytes from the first byte of the message, `size` bytes long.
struct Slice {
    std::uint32_t offset;
    std::uint32_t size;

    // `message` begins with the first byte of the message and reaches at least to the end of this text.
    std::string_view in(std::string_view message) const noexcept { return {message.data() + offset, size}; }
    bool empty() const noexcept { return size == 0; }
};

// One header line. The value excludes surrounding white space.
struct HeaderField {
    Slice name;
    Slice value;
};

struct HeaderView {
    std::string_view name;
    std::string_view value;
};

// The header lines of one message, in order. Allocates only beyond `inlineCapacity` lines, and keeps that memory.
class HeaderTable {
  public:
    static constexpr std::size_t inlineCapacity = 32;

    HeaderTable() noexcept {}  // leaves the storage uninitialised
    HeaderTable(const HeaderTable& other) { *this = other; }
    // Copies only the used fields: most requests have few, and a loop over these is cheaper than a call of memcpy().
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
        else spill(field);
        ++size_;
    }
    void clear() noexcept { size_ = 0; }

    // For a parser that writes fields in place. inlineRoom() returns unused inline slots, as many as keep size() at or
    // below `limit`; added() then makes the first `count` of them fields.
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

    // index < size().
    HeaderView at(std::size_t index, std::string_view message) const noexcept {
        return {fields()[index].name.in(message), fields()[index].value.in(message)};
    }
    // The first value with this name (case-insensitive), if any. Linear.
    std::optional<std::string_view> find(std::string_view name, std::string_view message) const noexcept;

  private:
    void spill(const HeaderField& field);

    std::uint32_t size_ = 0;
    std::array<HeaderField, inlineCapacity> inline_;
    std::vector<HeaderField> spilled_;  // all fields, once there are more than inlineCapacity
};

// RFC 9112, 3.2. `authority` occurs only with CONNECT, `asterisk` only with OPTIONS.
enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };

// How the end of the body is found (RFC 9112, 6.3). A request without Content-Length and Transfer-Encoding has no body.
enum class BodyKind : std::uint8_t { none, length, chunked };

struct RequestHead {
    // ResponseState begins with the same four members in the same order, so that the codec can copy them in one
    // operation.
    Method method = Method::other;
    Version version = Version::http11;
    // The client allows the connection to persist after the response (version default and `Connection` options; close
    // wins).
    bool keepAlive = false;
    // HTTP/1.1 with an `Upgrade` header and the `upgrade` connection option.
    bool upgrade = false;

    TargetForm targetForm = TargetForm::origin;
    BodyKind bodyKind = BodyKind::none;
    // HTTP/1.1 with `Expect: 100-continue` and a body: the client waits for 100 before it sends the body.
    bool expectContinue = false;
    // An expectation other than 100-continue, which a server may answer with 417.
    bool expectUnknown = false;
    bool hasHost = false;

    std::uint32_t consumed = 0;       // bytes of the head, with the empty line after it, and one before it if present
    std::uint32_t pathSize = 0;       // bytes of the target before its query
    std::uint64_t contentLength = 0;  // bytes of the body for BodyKind::length, at most 2^63 - 1
    Slice methodText{};               // also set for Method::other
    Slice target{};
    Slice authority{};  // host[:port]: from the target if it has one, else the Host value
    HeaderTable headers;

    // At least one byte of body, or the last chunk of an empty chunked body, follows the head.
    bool hasBody() const noexcept {
        return bodyKind == BodyKind::chunked || (bodyKind == BodyKind::length && contentLength != 0);
    }
};

}  // namespace weft::http
