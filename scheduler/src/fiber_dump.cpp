#include <weft/scheduler/fiber_dump.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>

#include <cxxabi.h>

#include "quoted_json.hpp"

namespace weft {

namespace {

using detail::quotedJson;

constexpr std::string_view stateNames[] = {"not started", "runnable", "running", "waiting", "polling"};

std::string_view textOf(FiberState state) noexcept {
    return stateNames[static_cast<unsigned>(state)];
}

std::string_view textOf(CarrierFibers::Answer answer) noexcept {
    constexpr std::string_view names[] = {"none", "given", "failed", "ended"};
    return names[static_cast<unsigned>(answer)];
}

std::string inSeconds(Duration time) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(time.count()) / 1e9);
    return text;
}

// A name from a program may contain anything: one fiber stays one line.
std::string onOneLine(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
    return text;
}

std::vector<const FiberInfo*> longestWaitFirst(const FiberDump& dump) {
    std::vector<const FiberInfo*> all;
    for (const CarrierFibers& carrier : dump.carriers) {
        for (const FiberInfo& fiber : carrier.fibers) all.push_back(&fiber);
    }
    std::sort(all.begin(), all.end(), [](const FiberInfo* left, const FiberInfo* right) {
        return left->waited != right->waited ? left->waited > right->waited : left->id < right->id;
    });
    return all;
}

void writeHolder(const FiberDump& dump, std::uint64_t id, std::ostream& out) {
    out << ", held by ";
    if (const FiberInfo* const holder = dump.find(id)) {
        out << "fiber " << id << " '" << onOneLine(holder->name) << "'";
    } else {
        out << "a thread or a fiber that is not listed (id " << id << ")";
    }
}

void writeFiber(const FiberDump& dump, const FiberInfo& fiber, std::ostream& out) {
    out << fiber.id << " '" << onOneLine(fiber.name) << "' of " << dump.carriers[fiber.home].name << ": ";
    if (fiber.state == FiberState::waiting) {
        out << "waits " << inSeconds(fiber.waited) << " in "
            << (fiber.call != nullptr ? fiber.call : "an unknown call");
        if (fiber.holder != 0) writeHolder(dump, fiber.holder, out);
    } else {
        out << textOf(fiber.state);
        if (fiber.state == FiberState::running) out << " on " << dump.carriers[fiber.ranOn].name;
        if (fiber.call != nullptr) out << ", last wait: " << fiber.call;
    }
    if (fiber.cancelled) out << ", cancelled";
    if (fiber.closure != nullptr) out << "  [" << fiber.closureName() << "]";
    out << "\n";
}

void writeUnanswered(const CarrierFibers& carrier, std::ostream& out) {
    const bool failed = carrier.answer == CarrierFibers::Answer::failed;
    if (!failed && carrier.answer != CarrierFibers::Answer::none) return;
    out << "carrier " << carrier.name
        << (failed ? " has no memory for its answer: its " : " did not answer in time; its ") << carrier.live
        << " fibers are not listed\n";
}

void writeTotals(const FiberDump& dump, std::ostream& out) {
    std::size_t states[std::size(stateNames)] = {};
    std::map<std::string_view, std::size_t> calls;
    for (const CarrierFibers& carrier : dump.carriers) {
        for (const FiberInfo& fiber : carrier.fibers) {
            ++states[static_cast<unsigned>(fiber.state)];
            if (fiber.state == FiberState::waiting && fiber.call != nullptr) ++calls[fiber.call];
        }
    }
    out << "total: " << dump.size() << " fibers on " << dump.carriers.size() << " carriers";
    const char* separator = ": ";
    for (std::size_t i = 0; i < std::size(stateNames); ++i) {
        if (states[i] == 0) continue;
        out << std::exchange(separator, ", ") << states[i] << " " << stateNames[i];
    }
    out << "\n";
    for (const auto& [call, waiting] : calls) out << "  " << waiting << " in " << call << "\n";
}

// Numbers by std::to_string(): the stream may have a locale that groups digits.
void writeFiberJson(const FiberInfo& fiber, std::ostream& out) {
    out << "{\"id\":" << std::to_string(fiber.id) << ",\"name\":" << quotedJson(fiber.name)
        << ",\"home\":" << std::to_string(fiber.home) << ",\"ranOn\":" << std::to_string(fiber.ranOn)
        << ",\"state\":" << quotedJson(textOf(fiber.state)) << ",\"cancelled\":" << (fiber.cancelled ? "true" : "false")
        << ",\"call\":" << (fiber.call != nullptr ? quotedJson(fiber.call) : "null")
        << ",\"waitedNs\":" << std::to_string(fiber.waited.count())
        << ",\"holder\":" << (fiber.holder != 0 ? std::to_string(fiber.holder) : "null")
        << ",\"closure\":" << (fiber.closure == nullptr ? "null" : quotedJson(fiber.closureName())) << "}";
}

}  // namespace

std::string FiberInfo::closureName() const {
    if (closure == nullptr) return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(closure->name(), nullptr, nullptr, &status), &std::free);
    return readable != nullptr ? readable.get() : closure->name();
}

std::size_t FiberDump::size() const noexcept {
    std::size_t total = 0;
    for (const CarrierFibers& carrier : carriers) total += carrier.fibers.size();
    return total;
}

const FiberInfo* FiberDump::find(std::uint64_t id) const noexcept {
    for (const CarrierFibers& carrier : carriers) {
        const auto found =
            std::lower_bound(carrier.fibers.begin(), carrier.fibers.end(), id,
                             [](const FiberInfo& fiber, std::uint64_t least) { return fiber.id < least; });
        if (found != carrier.fibers.end() && found->id == id) return &*found;
    }
    return nullptr;
}

void FiberDump::writeText(std::ostream& out) const {
    for (const FiberInfo* fiber : longestWaitFirst(*this)) writeFiber(*this, *fiber, out);
    for (const CarrierFibers& carrier : carriers) writeUnanswered(carrier, out);
    writeTotals(*this, out);
}

void FiberDump::writeJson(std::ostream& out) const {
    out << "{\"carriers\":[";
    const char* separator = "";
    for (const CarrierFibers& carrier : carriers) {
        out << std::exchange(separator, ",") << "{\"name\":" << quotedJson(carrier.name)
            << ",\"answer\":" << quotedJson(textOf(carrier.answer)) << ",\"live\":" << std::to_string(carrier.live)
            << ",\"fibers\":[";
        const char* next = "";
        for (const FiberInfo& fiber : carrier.fibers) {
            out << std::exchange(next, ",\n");
            writeFiberJson(fiber, out);
        }
        out << "]}";
    }
    out << "]}\n";
}

}  // namespace weft
