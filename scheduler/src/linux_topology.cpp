#include <weft/scheduler/topology.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>

#include <weft/scheduler/log.hpp>

#include "cpus.hpp"

namespace weft {

namespace {

std::string contentOf(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

std::vector<unsigned> listIn(const std::string& path) {
    return detail::parseCpuList(contentOf(path)).value_or(std::vector<unsigned>());
}

std::optional<unsigned> numberIn(const std::string& path) {
    const auto list = listIn(path);
    return list.size() == 1 ? std::optional(list.front()) : std::nullopt;
}

// The properties that determine a CPU's place in the order.
struct Cpu {
    unsigned number;
    unsigned core;                       // the lowest CPU number of its physical core
    unsigned thread = 0;                 // its index among the allowed CPUs of its core
    bool slow = false;                   // a slow core of a hybrid machine
    std::vector<unsigned> cacheSharers;  // CPUs that share its last-level cache; empty: no cache from level 3 on
    unsigned cluster = 0;
};

class Machine {
  public:
    Machine(const std::string& sysfs, const std::vector<unsigned>& allowed) : sysfs_(sysfs) {
        const std::vector<unsigned> atoms = listIn(sysfs_ + "/devices/cpu_atom/cpus");
        for (const unsigned number : allowed) {
            cpus_.push_back({.number = number, .core = coreOf(number), .cacheSharers = cacheSharersOf(number)});
            cpus_.back().slow = std::binary_search(atoms.begin(), atoms.end(), number);
        }
        markSlowByCapacity();
        countThreads();
        std::sort(cpus_.begin(), cpus_.end(), [](const Cpu& a, const Cpu& b) { return turn(a) < turn(b); });
        numberClusters();
    }
    const std::vector<Cpu>& cpus() const noexcept { return cpus_; }  // in the order of placement
    unsigned clusters() const noexcept { return clusters_; }

  private:
    static std::tuple<unsigned, bool, unsigned, unsigned> turn(const Cpu& cpu) {
        return {cpu.thread, cpu.slow, cpu.cacheSharers.empty() ? 0 : cpu.cacheSharers.front(), cpu.number};
    }
    std::string folderOf(unsigned number) const { return sysfs_ + "/devices/system/cpu/cpu" + std::to_string(number); }
    unsigned coreOf(unsigned number) const {
        for (const char* file : {"/topology/core_cpus_list", "/topology/thread_siblings_list"}) {
            const auto threads = listIn(folderOf(number) + file);
            if (!threads.empty()) return threads.front();
        }
        return number;
    }
    std::vector<unsigned> cacheSharersOf(unsigned number) const {
        std::vector<unsigned> cacheSharers;
        unsigned highest = 2;
        for (unsigned index = 0;; ++index) {
            const std::string cache = folderOf(number) + "/cache/index" + std::to_string(index);
            const auto level = numberIn(cache + "/level");
            if (!level) return cacheSharers;
            if (*level <= highest) continue;
            auto list = listIn(cache + "/shared_cpu_list");
            if (list.empty()) continue;
            highest = *level;
            cacheSharers = std::move(list);
        }
    }
    void markSlowByCapacity() {
        std::vector<unsigned> capacities;
        capacities.reserve(cpus_.size());
        for (const Cpu& cpu : cpus_) capacities.push_back(numberIn(folderOf(cpu.number) + "/cpu_capacity").value_or(0));
        const auto most = std::max_element(capacities.begin(), capacities.end());
        for (std::size_t i = 0; i < cpus_.size(); ++i) cpus_[i].slow = cpus_[i].slow || capacities[i] < *most;
    }
    void countThreads() {
        std::map<unsigned, unsigned> threads;
        for (Cpu& cpu : cpus_) cpu.thread = threads[cpu.core]++;
    }
    void numberClusters() {
        std::map<std::vector<unsigned>, unsigned> numbers;
        for (Cpu& cpu : cpus_)
            cpu.cluster = numbers.emplace(cpu.cacheSharers, static_cast<unsigned>(numbers.size())).first->second;
        clusters_ = static_cast<unsigned>(numbers.size());
    }

    const std::string& sysfs_;
    std::vector<Cpu> cpus_;
    unsigned clusters_ = 0;
};

}  // namespace

std::vector<CarrierPlace> LinuxTopology::place(unsigned carriers) const {
    std::vector<CarrierPlace> places(carriers);
    const std::vector<unsigned> allowed = options_.allowedCpus ? *options_.allowedCpus : detail::allowedCpus();
    if (allowed.empty()) {
        log(LogLevel::warning,
            {"topology: the kernel does not report which CPUs this process may use; carriers float, in one cluster"});
        return places;
    }
    const double quota = options_.quota ? *options_.quota : detail::cgroupQuota();
    if (quota < static_cast<double>(allowed.size())) {
        log(LogLevel::warning,
            {"topology: a CPU quota of ", std::to_string(quota), " on ", std::to_string(allowed.size()),
             " CPUs: carriers float, in one cluster, since other containers would choose the same CPUs; "
             "give the container a cpuset"});
        return places;
    }
    const Machine machine(options_.sysfsRoot, allowed);
    const std::size_t cpus = machine.cpus().size();
    for (unsigned i = 0; i < carriers; ++i) {
        if (i < cpus) {
            const Cpu& cpu = machine.cpus()[(i + options_.skip) % cpus];
            places[i] = {cpu.number, cpu.cluster};
        } else {
            places[i].cluster = i % machine.clusters();
        }
    }
    if (carriers > cpus) {
        log(LogLevel::warning, {"topology: ", std::to_string(carriers), " carriers on ", std::to_string(cpus),
                                " CPUs: the last ", std::to_string(carriers - cpus), " float"});
    }
    return places;
}

}  // namespace weft
