// Two fibers on one carrier; one waits for the other.
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <chrono>
#include <iostream>

int main() {
    weft::CarrierOptions options;
    options.carriers = 1;
    weft::CarrierGroup group(options);
    auto sum = group.spawn([] {
        auto slow = weft::thisFiber::carrier()->spawn([] {
            weft::thisFiber::sleepFor(std::chrono::milliseconds(1));
            return 40;
        });
        return 2 + slow.join();
    });
    const int result = sum.join();
    std::cout << result << std::endl;
    return result == 42 ? 0 : 1;
}
