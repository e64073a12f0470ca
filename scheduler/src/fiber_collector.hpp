// FiberCollector: makes a FiberDump from the carriers' answers. Private to the scheduler.
#pragma once

#include <memory>
#include <mutex>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/fiber_dump.hpp>
#include <weft/scheduler/future.hpp>

namespace weft::detail {

class FiberCollector {
  public:
    explicit FiberCollector(CarrierGroup& group);
    // Carriers that have not answered yet will not list their fibers.
    ~FiberCollector();
    FiberCollector(const FiberCollector&) = delete;
    FiberCollector& operator=(const FiberCollector&) = delete;

    // Sends a request to every carrier.
    void send();
    // Waits for the answers until the timeout. Throws as Future::awaitUntil().
    FiberDump await(Duration timeout);

  private:
    // Shared with the requests, because a carrier may answer after the collector has returned.
    struct Answers {
        std::mutex lock;  // guards everything except `all`
        FiberDump dump;
        std::size_t missing = 0;
        bool returned = false;  // nothing reads the dump any more
        Promise<void> all;
    };
    class Request;

    FiberDump take();
    static void addHolders(FiberDump& dump);
    static CarrierFibers describe(Carrier& carrier) noexcept;
    static std::vector<FiberInfo> list(Carrier& carrier);
    static FiberInfo describe(const Fiber& fiber, TimePoint now);
    static FiberState stateOf(const Fiber& fiber) noexcept;
    static bool isReturned(Answers& answers) noexcept;
    static void deliver(Answers& answers, unsigned index, CarrierFibers&& fibers) noexcept;

    CarrierGroup& group_;
    const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
};

}  // namespace weft::detail
