// Question: how does the shipped steal policy change the latency of requests on simulated carriers? Prints one JSON
// object.
//   steal_policy --load balanced --carriers 64 --clusters 8 --searchers 2        `--help` lists the flags
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "loads.hpp"

namespace weft::perf::sim {

namespace {

struct Setup {
    Shape shape;
    Costs costs;
    StealRules rules;
    bool steals = true;
    bool global = false;  // one steal cluster over all carriers
    bool answersAtHome = true;
    std::uint32_t most = 256;
    Nanoseconds handler = 2'000;
    Nanoseconds answer = 2'000;
};

using Setter = std::function<void(Setup&, const std::string&)>;

long long number(const std::string& text, long long least, long long most) {
    std::size_t read = 0;
    long long value = 0;
    try {
        value = std::stoll(text, &read);
    } catch (const std::exception&) {
        read = 0;
    }
    if (read == 0 || read != text.size() || value < least || value > most)
        throw std::invalid_argument("'" + text + "', accepted: " + std::to_string(least) + " to " +
                                    std::to_string(most));
    return value;
}

bool choice(const std::string& text, const char* yes, const char* no) {
    if (text != yes && text != no) throw std::invalid_argument("'" + text + "', accepted: " + yes + ", " + no);
    return text == yes;
}

std::string loadName(const std::string& text) {
    for (const char* name :
         {"balanced", "skewed", "skewed-alone", "overloaded", "bursty", "ping-pong", "hogged", "hogged-alone"}) {
        if (text == name) return text;
    }
    throw std::invalid_argument(
        "'" + text +
        "', accepted: balanced, skewed, skewed-alone, overloaded, bursty, ping-pong, hogged, hogged-alone");
}

const std::map<std::string, Setter>& flags() {
    static const std::map<std::string, Setter> all = {
        {"--load", [](Setup& s, const std::string& v) { s.shape.load = loadName(v); }},
        {"--carriers",
         [](Setup& s, const std::string& v) { s.shape.carriers = static_cast<unsigned>(number(v, 1, mostCarriers)); }},
        {"--clusters",
         [](Setup& s, const std::string& v) { s.shape.clusters = static_cast<unsigned>(number(v, 1, mostCarriers)); }},
        {"--load-percent",
         [](Setup& s, const std::string& v) { s.shape.utilisation = static_cast<double>(number(v, 1, 120)) / 100; }},
        {"--work-ns", [](Setup& s, const std::string& v) { s.shape.work = number(v, 100, 1'000'000'000); }},
        {"--work", [](Setup& s, const std::string& v) { s.shape.constantWork = choice(v, "constant", "exponential"); }},
        {"--submitted", [](Setup& s, const std::string& v) { s.shape.remote = choice(v, "elsewhere", "home"); }},
        {"--answers", [](Setup& s, const std::string& v) { s.answersAtHome = choice(v, "home", "anywhere"); }},
        {"--handler-ns", [](Setup& s, const std::string& v) { s.handler = number(v, 0, 1'000'000'000); }},
        {"--answer-ns", [](Setup& s, const std::string& v) { s.answer = number(v, 0, 1'000'000'000); }},
        {"--duration-ms",
         [](Setup& s, const std::string& v) { s.shape.duration = number(v, 1, 1'000'000) * 1'000'000; }},
        {"--seed",
         [](Setup& s, const std::string& v) { s.shape.seed = static_cast<unsigned>(number(v, 0, UINT32_MAX)); }},
        {"--stealing", [](Setup& s, const std::string& v) { s.steals = choice(v, "on", "off"); }},
        {"--scope", [](Setup& s, const std::string& v) { s.global = choice(v, "global", "cluster"); }},
        {"--depth",
         [](Setup& s, const std::string& v) { s.rules.depth = static_cast<std::size_t>(number(v, 1, 1'000'000)); }},
        {"--age-us",
         [](Setup& s, const std::string& v) { s.rules.age = std::chrono::microseconds(number(v, 0, 1'000'000)); }},
        {"--searchers",
         [](Setup& s, const std::string& v) { s.rules.searchers = static_cast<unsigned>(number(v, 1, mostCarriers)); }},
        {"--takes", [](Setup& s, const std::string& v) { s.most = choice(v, "one", "half") ? 1 : 256; }},
        {"--push", [](Setup& s, const std::string& v) { s.rules.push = choice(v, "on", "off"); }},
        {"--pull", [](Setup& s, const std::string& v) { s.rules.pull = choice(v, "on", "off"); }},
        {"--lingers", [](Setup& s, const std::string& v) { s.rules.lingers = choice(v, "on", "off"); }},
        {"--wake-latency-ns",
         [](Setup& s, const std::string& v) { s.costs.wakeLatency = number(v, 0, 1'000'000'000); }},
        {"--wake-call-ns", [](Setup& s, const std::string& v) { s.costs.wakeCall = number(v, 0, 1'000'000'000); }},
    };
    return all;
}

Setup parsed(int argc, char** argv) {
    Setup setup;
    for (int i = 1; i < argc; i += 2) {
        const auto flag = flags().find(argv[i]);
        if (flag == flags().end()) {
            std::string all;
            for (const auto& [name, set] : flags()) all += " " + name;
            throw std::invalid_argument(std::string(argv[i]) + ": accepted:" + all);
        }
        if (i + 1 == argc) throw std::invalid_argument(std::string(argv[i]) + ": needs a value");
        try {
            flag->second(setup, argv[i + 1]);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(std::string(argv[i]) + ": " + error.what());
        }
    }
    if (setup.shape.carriers % setup.shape.clusters != 0)
        throw std::invalid_argument("--carriers: must be a multiple of --clusters");
    return setup;
}

std::vector<std::unique_ptr<Group>> makeGroups(Loads& loads, const Setup& setup) {
    std::vector<std::unique_ptr<Group>> groups;
    const unsigned count = setup.global ? 1 : setup.shape.clusters;
    const unsigned size = setup.shape.carriers / count;
    for (unsigned c = 0; c < count; ++c) {
        std::vector<Carrier*> members;
        for (unsigned m = 0; m < size; ++m) members.push_back(&loads.carrier(c * size + m));
        groups.push_back(std::make_unique<Group>(members, setup.rules));
        for (unsigned m = 0; m < size; ++m) loads.carrier(c * size + m).join(*groups.back(), m);
    }
    return groups;
}

void run(const Setup& setup) {
    Simulation simulation;
    const Machine machine(setup.costs, setup.shape.carriers, setup.shape.clusters);
    Loads loads(simulation, setup.shape);
    loads.handler = setup.shape.remote ? 0 : setup.handler;
    loads.answer = setup.shape.remote ? 0 : setup.answer;
    loads.answersAtHome = setup.answersAtHome;
    loads.most = setup.most;
    loads.build(setup.steals);
    std::vector<std::unique_ptr<Group>> groups;
    if (setup.steals) groups = makeGroups(loads, setup);
    loads.start();
    simulation.run();

    const Counters& counted = loads.counters;
    const auto requests = static_cast<double>(loads.completed_);
    const auto per = [requests](std::uint64_t count) { return static_cast<double>(count) / requests; };
    std::printf("{\"requests\": %llu, \"per_second\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, "
                "\"calls\": %.4f, "
                "\"steals\": %.4f, \"stolen\": %.4f, \"deadlines\": %.4f, \"overhead\": %.4f}\n",
                static_cast<unsigned long long>(loads.completed_), requests / (static_cast<double>(loads.ended_) / 1e9),
                loads.times_.microseconds(0.5), loads.times_.microseconds(0.99), loads.times_.microseconds(0.999),
                per(counted.calls), per(counted.steals), per(counted.stolen), per(counted.deadlines),
                static_cast<double>(counted.awake - counted.useful) / static_cast<double>(counted.useful));
}

}  // namespace
}  // namespace weft::perf::sim

int main(int argc, char** argv) {
    try {
        weft::perf::sim::run(weft::perf::sim::parsed(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "steal_policy: %s\n", error.what());
        return 2;
    }
}
