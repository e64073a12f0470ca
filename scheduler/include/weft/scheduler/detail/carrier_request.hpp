// CarrierRequest: a message to a carrier, which its own thread answers between two tasks.
#pragma once

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/in_tray.hpp>

namespace weft {
class Carrier;
}

namespace weft::detail {

class CarrierRequest {
  public:
    CarrierRequest(const CarrierRequest&) = delete;
    CarrierRequest& operator=(const CarrierRequest&) = delete;

    // Called once, on the carrier's thread, outside of fibers; may delete the request. Must neither suspend nor block.
    virtual void answer(Carrier& carrier) noexcept = 0;

    CarrierRequest* next = nullptr;  // the link in the tray

  protected:
    CarrierRequest() = default;
    virtual ~CarrierRequest() = default;
};

// Any thread pushes; the carrier takes everything when it answers a turn request, and closes the tray when it ends.
using CarrierRequests = BasicInTray<NativeAtomics, CarrierRequest>;

}  // namespace weft::detail
