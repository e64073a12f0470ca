// XorFilter: a ChannelFilter that changes each byte and not their number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/channel_filter.hpp>

namespace weft::test {

inline std::string xored(std::string_view bytes, char key) {
    std::string changed(bytes);
    for (char& byte : changed) byte = static_cast<char>(byte ^ key);
    return changed;
}

class XorFilter final : public ChannelFilter {
  public:
    // With the key 0 the bytes stay as they are.
    explicit XorFilter(char key) : key_(key) {}
    // encode() takes nothing until pass() is called.
    void hold() { held_ = true; }
    void pass() {
        held_ = false;
        resumeOutput();
    }
    // Bytes that only the filter knows.
    void greet(std::string_view bytes) {
        encoded().append(bytes);
        sendEncoded();
    }
    void sayGoodbye(std::string text) { goodbye_ = std::move(text); }

    void onRead(Buffer&& bytes) noexcept override { deliver(Buffer::copyOf(xored(bytes.view(), key_))); }

  protected:
    std::size_t encode(std::string_view plain, ChannelOutput& encoded) override {
        if (held_) return 0;
        const std::size_t taken = std::min(plain.size(), mostAtOnce);
        encoded.append(xored(plain.substr(0, taken), key_));
        return taken;
    }
    void finish(ChannelOutput& encoded) noexcept override { encoded.append(std::exchange(goodbye_, {})); }

  private:
    static constexpr std::size_t mostAtOnce = 16 * 1024;

    const char key_;
    bool held_ = false;
    std::string goodbye_;
};

}  // namespace weft::test
