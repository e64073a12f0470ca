// FilteredStage: another stage whose channel has a filter; the peer changes the bytes as well.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/testing/connection_stage.hpp>

#include "pipeline/xor_filter.hpp"

namespace weft::test {

template <class Stage>
class FilteredStage final : public ConnectionStage {
  public:
    template <class... Arguments>
    explicit FilteredStage(Arguments&&... arguments) : stage_(std::forward<Arguments>(arguments)...) {}
    void open(const ChannelSetup& setUp) override {
        stage_.open([setUp](Channel& channel) {
            channel.addFilter(std::make_unique<XorFilter>(key));
            setUp(channel);
        });
    }
    Channel& channel() override { return stage_.channel(); }
    void inLoop(const std::function<void()>& fn) override { stage_.inLoop(fn); }
    void send(const std::string& bytes) override { stage_.send(xored(bytes, key)); }
    void endInput() override { stage_.endInput(); }
    void reset() override { stage_.reset(); }
    std::string received(std::size_t size) override { return xored(stage_.received(size), key); }
    bool peerSeesEnd() override { return stage_.peerSeesEnd(); }
    void until(const std::function<bool()>& condition) override { stage_.until(condition); }

  private:
    static constexpr char key = 0x55;
    Stage stage_;
};

}  // namespace weft::test
