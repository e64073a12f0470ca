// The first step: fibers, without a network. A sleeping fiber does not block the others: it parks, and its carrier runs
// the next one.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// Runs in a fiber and blocks as if it had a thread of its own.
std::string greet(const std::string& name) {
    weft::thisFiber::sleepFor(10ms);
    return "hello from " + name + ", a fiber on carrier " + weft::thisFiber::carrier()->name();
}

int main() {
    weft::CarrierOptions options;
    options.carriers = 2;  // threads that run fibers
    weft::CarrierGroup group(options);
    std::vector<weft::JoinHandle<std::string>> fibers;
    for (const char* name : {"ada", "grace", "edsger"}) {
        fibers.push_back(group.spawn([name] { return greet(name); }));
    }
    for (auto& fiber : fibers) std::cout << fiber.join() << std::endl;  // a plain thread may wait for a fiber, too
}
