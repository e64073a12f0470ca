// A small program for valgrind: fibers that use their stacks deeply, throw, sleep, wait for one another and end, so
// that later fibers get used stacks. With --defect one of them reads a freed byte, which valgrind must report.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace {

// Fills `depth` frames of 512 bytes, yields at the bottom, and counts the intact bytes on its way back.
unsigned descend(unsigned depth) {
    char frame[512];
    std::memset(frame, static_cast<int>(depth & 0x7f), sizeof frame);
    const unsigned below = depth == 0 ? (weft::thisFiber::yield(), 0u) : descend(depth - 1);
    unsigned mine = 0;
    for (const char byte : frame) mine += static_cast<unsigned>(byte == static_cast<char>(depth & 0x7f));
    return below + mine;
}

std::string throwAcrossASleep(int value) {
    try {
        throw std::runtime_error("fiber " + std::to_string(value));
    } catch (const std::exception& error) {
        weft::thisFiber::sleepFor(std::chrono::milliseconds(1));
        return error.what();  // still this fiber's own
    }
}

char readFreed() {
    auto freed = std::make_unique<char[]>(16);
    const volatile char* const left = freed.get();
    freed.reset();
    return *left;
}

int run(bool defect) {
    constexpr unsigned depth = 60;
    constexpr int fibers = 40;
    weft::CarrierOptions options;
    options.carriers = 2;
    weft::CarrierGroup group(options);
    int wrong = 0;
    for (int round = 0; round < 3; ++round) {
        std::vector<weft::JoinHandle<unsigned>> deep;
        std::vector<weft::JoinHandle<std::string>> throwing;
        weft::Promise<int> told;
        for (int i = 0; i < fibers; ++i) {
            deep.push_back(
                group.spawn([future = told.future()] { return descend(depth) + static_cast<unsigned>(future.get()); }));
            throwing.push_back(group.spawn([i] { return throwAcrossASleep(i); }));
        }
        told.setValue(1);
        for (auto& fiber : deep) wrong += fiber.join() != (depth + 1) * 512 + 1;
        for (int i = 0; i < fibers; ++i)
            wrong += throwing[static_cast<std::size_t>(i)].join() != "fiber " + std::to_string(i);
    }
    if (defect) std::printf("read %d\n", group.spawn(readFreed).join());
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    const int wrong = run(argc > 1 && std::strcmp(argv[1], "--defect") == 0);
    std::printf("%d wrong answers\n", wrong);
    return wrong == 0 ? 0 : 1;
}
