// PipelineSetup: how a bootstrap sets up each new channel: the function that fills its pipeline, and its options.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_option.hpp>

namespace weft::detail {

// Built by one thread, then copied or shared as const. Copies share the handler, which several loops use at once.
class PipelineSetup {
  public:
    // `handler` is a callable void(Channel&), which runs on each channel's loop and so must be safe to call from
    // several loops at once, or a std::shared_ptr to a sharable handler.
    template <class H>
    void setHandler(H&& handler) {
        using D = std::decay_t<H>;
        if constexpr (isHandlerPointer<D>) {
            static_assert(std::is_copy_constructible_v<D>,
                          "Weft: a bootstrap creates many channels: give it a std::shared_ptr to a "
                          "sharable handler, or a callable void(Channel&)");
            fill_ = [shared = D(std::forward<H>(handler))](Channel& channel) { channel.pipeline().addLast(shared); };
        } else {
            fill_ = [own = std::make_shared<D>(std::forward<H>(handler))](Channel& channel) { (*own)(channel); };
        }
    }

    // The last value of an option wins. The channel logs options that the transport refuses.
    template <class T>
    void addOption(const TypedChannelOption<T>& option, const T& value) {
        options_.push_back([option, value](Channel& channel) { channel.setOption(option, value); });
    }

    bool hasHandler() const noexcept { return static_cast<bool>(fill_); }
    void fill(Channel& channel) const {
        if (fill_) fill_(channel);
    }
    void applyOptions(Channel& channel) const {
        for (const auto& apply : options_) apply(channel);
    }

  private:
    std::function<void(Channel&)> fill_;
    std::vector<std::function<void(Channel&)>> options_;
};

}  // namespace weft::detail
