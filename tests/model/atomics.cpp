#include "atomics.hpp"

#include <cstdio>

namespace weft::model {

std::string describeValue(Value bits) {
    char text[24];
    std::snprintf(text, sizeof text, bits < 100'000 ? "%llu" : "0x%llx", static_cast<unsigned long long>(bits));
    return text;
}

void AccessLog::writtenBy(Execution& run) noexcept {
    writer_ = static_cast<std::uint8_t>(run.self());
    wroteAt_ = run.memory().clock(run.self());
}

void AccessLog::checkAgainstWriter(Execution& run, const char* what, const char* how) const {
    if (run.memory().happenedBefore(writer_, wroteAt_, run.self())) return;
    run.fail(FailureKind::race, std::string("data race: ") + what + " is " + how + " here and written elsewhere");
}

void AccessLog::checkAgainstReaders(Execution& run, const char* what) const {
    for (unsigned i = 0; i < maxThreads; ++i) {
        if (run.memory().happenedBefore(i, readAt_[i], run.self())) continue;
        run.fail(FailureKind::race, std::string("data race: ") + what + " is written here and read elsewhere");
    }
}

void AccessLog::read(const char* what) const {
    Execution& run = Execution::current();
    if (!run.isLive()) return;
    if (dead_) run.fail(FailureKind::lifetime, std::string(what) + " is read after its destruction");
    if (!initialised_) run.fail(FailureKind::uninitialised, std::string(what) + " is read before it has been written");
    checkAgainstWriter(run, what, "read");
    readAt_[run.self()] = run.memory().clock(run.self());
}

void AccessLog::write(const char* what) {
    Execution& run = Execution::current();
    if (!run.isLive()) return;
    if (dead_) run.fail(FailureKind::lifetime, std::string(what) + " is written after its destruction");
    checkAgainstWriter(run, what, "written");
    checkAgainstReaders(run, what);
    writtenBy(run);
    initialised_ = true;
}

// Destruction counts as a write, and as the last access.
void AccessLog::end() {
    write("an object under destruction");
    dead_ = true;
}

}  // namespace weft::model
