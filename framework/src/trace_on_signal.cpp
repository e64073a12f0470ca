#include <weft/framework/trace_on_signal.hpp>

#include <weft/scheduler/flight_recorder.hpp>

#include "file_on_signal.hpp"

namespace weft {

class TraceOnSignal::Writer final : public detail::FileOnSignal {
  public:
    using FileOnSignal::FileOnSignal;
};

TraceOnSignal::TraceOnSignal(CarrierGroup& group, std::string path, int signal)
    : writer_(std::make_shared<Writer>(detail::FileOnSignalOptions{
          .owner = "TraceOnSignal",
          .what = "trace",
          .path = std::move(path),
          .signal = signal,
          .write = [&group](std::ostream& out) { writeTrace(group, out); },
      })) {}

TraceOnSignal::~TraceOnSignal() {
    if (writer_->forked()) detail::KeptInFork::keep(std::move(writer_));
}

}  // namespace weft
