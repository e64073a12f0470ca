// Execution, the part that describes a failure to the reader.
#include <algorithm>

#include "execution.hpp"

namespace weft::model {

namespace {
constexpr std::size_t mostTraced = 80;  // lines at either end of a trace
}

const char* nameOf(FailureKind kind) noexcept {
    static constexpr const char* names[] = {"none",     "assertion", "race",         "lifetime",
                                            "deadlock", "livelock",  "uninitialised"};
    return names[static_cast<unsigned>(kind)];
}

std::string Execution::nameOfLocation(unsigned location) const {
    if (locationNames_[location] != nullptr) return locationNames_[location];
    return "atomic" + std::to_string(location);
}

std::string Execution::whoWaits() const {
    std::string text = "nobody can run:";
    for (unsigned i = 1; i < threadCount_; ++i) {
        const Thread& thread = threads_[i];
        if (thread.finished) continue;
        text += std::string(" ") + thread.name + " waits ";
        switch (thread.wait) {
            case Wait::futex: text += "in the futex " + nameOfLocation(thread.resource); break;
            case Wait::event: text += std::string("for the event ") + resources_[thread.resource].name; break;
            case Wait::mutex: text += std::string("for the mutex ") + resources_[thread.resource].name; break;
            default: text += "for a change of what it has read"; break;
        }
        text += ";";
    }
    text.pop_back();
    return text;
}

void Execution::note(const char* operation, unsigned location, const char* order, std::string detail,
                     const std::source_location& where) {
    std::string text = operation;
    text.resize(std::max<std::size_t>(text.size() + 1, 17), ' ');
    if (location < maxLocations) text += nameOfLocation(location) + " ";
    text += detail;
    if (*order != '\0') text += std::string("  ") + order;
    trace_.push_back({self_, std::move(text), where});
}

std::string Execution::traceText() const {
    std::string text;
    for (std::size_t i = 0; i < trace_.size(); ++i) {
        if (trace_.size() > 2 * mostTraced && i == mostTraced) {  // a livelock: print its beginning and its end
            text += "...\n";
            i = trace_.size() - mostTraced;
        }
        const TraceLine& line = trace_[i];
        std::string entry = threads_[line.thread].name;
        entry.resize(std::max<std::size_t>(entry.size() + 1, 12), ' ');
        entry += line.text;
        entry.resize(std::max<std::size_t>(entry.size() + 2, 64), ' ');
        const std::string_view path = line.where.file_name();
        entry += std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line.where.line());
        text += entry + "  " + sourceLine(path, line.where.line()) + "\n";
    }
    return text;
}

}  // namespace weft::model
