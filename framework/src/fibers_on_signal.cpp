#include <weft/framework/fibers_on_signal.hpp>

#include "file_on_signal.hpp"

namespace weft {

class FibersOnSignal::Writer final : public detail::FileOnSignal {
  public:
    using FileOnSignal::FileOnSignal;
};

FibersOnSignal::FibersOnSignal(CarrierGroup& group, std::string path, int signal)
    : writer_(std::make_shared<Writer>(detail::FileOnSignalOptions{
          .owner = "FibersOnSignal",
          .what = "fiber dump",
          .path = std::move(path),
          .signal = signal,
          .write = [&group](std::ostream& out) { group.fibers().writeText(out); },
      })) {}

FibersOnSignal::~FibersOnSignal() {
    if (writer_->forked()) detail::KeptInFork::keep(std::move(writer_));
}

}  // namespace weft
