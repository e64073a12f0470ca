// Program: what some fibers and threads do with some objects. Made from a seed, printed, and made smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::property {

enum class Kind : std::uint8_t {
    mutex,  // with a condition
    fairMutex,
    rwLock,
    semaphore,
    notify,
    barrier,
    waitGroup,
    onceCell,
    boundedQueue,
    unboundedQueue,
    oneshot,
    broadcast,
    watch,
};
inline constexpr std::size_t kinds = static_cast<std::size_t>(Kind::watch) + 1;

enum class Act : std::uint8_t {
    use,     // a call of `object`: which one depends on its kind and on `choice`
    select,  // receives from `objects`, until a deadline if `timed`, or not waiting if `choice` is 0
    yield,
    sleep,         // for `ticks`
    advance,       // moves the clock by `ticks`
    cancelSource,  // `choice`: which
    cancelFiber,   // `choice`: which
    // Blocks: `body` runs in a scope.
    cancelScope,    // `choice`: which source
    deadlineScope,  // `ticks` from its begin
    shield,
    taskScope,  // `children` run while `body` does; `choice`: its policy
    joinSet,
};

struct Operation {
    Act act{};
    int object = 0;
    unsigned choice = 0;
    unsigned amount = 1;  // permits, say
    bool timed = false;   // with a deadline of its own, `ticks` from the call
    bool throws = false;  // the form of the call that throws
    bool fails = false;   // the last one of a child: the child then ends with an exception
    unsigned ticks = 0;
    std::vector<int> objects{};
    std::vector<Operation> body{};
    std::vector<std::vector<Operation>> children{};
};

struct Object {
    Kind kind{};
    unsigned amount = 1;  // permits, parties, places, the count
};

struct Program {
    std::uint32_t seed = 0;
    unsigned threads = 0;  // how many of the actors are plain threads, the last ones
    std::vector<Object> objects;
    std::vector<std::vector<Operation>> actors;
    std::vector<Operation> conductor;  // what the fiber that then ends all others does first
};

// The same program for the same arguments.
Program makeProgram(std::uint32_t seed, unsigned threads);

std::size_t sizeOf(const Program& program);
// The program without the operation `number`, which is less than sizeOf().
Program without(const Program& program, std::size_t number);
std::string describe(const Program& program);

}  // namespace weft::property
