// The first step: fibers, without any network. They block one another's view of nothing: a sleep parks the fiber, and its
// carrier runs the next one.
#include "support/program.hpp"

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

// Runs in a fiber: blocks as if it had a thread to itself.
std::string greet(std::string name, std::chrono::milliseconds pause) {
    weft::thisFiber::sleepFor(pause);
    return "hello from " + name + ", a fiber on carrier " + weft::thisFiber::carrier()->name();
}

int run(const weft::CarrierOptions& options) {
    weft::CarrierGroup group(options);
    std::vector<weft::JoinHandle<std::string>> fibers;
    for (const char* name : {"ada", "grace", "edsger"}) {
        fibers.push_back(group.spawn([name] { return greet(name, 10ms); }));
    }
    for (auto& fiber : fibers) std::cout << fiber.join() << std::endl;  // a plain thread may wait for a fiber, too
    return examples::success;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Starts three fibers that sleep and then say hello.", "hello_fiber");
    weft::CarrierOptions options;
    options.carriers = 2;
    examples::ServerFlags::addCarriers(app, options);
    return examples::runProgram(app, argc, argv, [&] { return run(options); });
}
