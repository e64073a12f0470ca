#include "cpus.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include <sched.h>

namespace weft::detail {

namespace {

// A mask for `cpus` CPUs; a fixed cpu_set_t holds only 1,024.
class CpuMask {
  public:
    explicit CpuMask(unsigned cpus) : cpus_(cpus), set_(CPU_ALLOC(cpus)) {
        if (set_ != nullptr) CPU_ZERO_S(size(), set_.get());
    }
    explicit operator bool() const noexcept { return set_ != nullptr; }
    std::size_t size() const noexcept { return CPU_ALLOC_SIZE(cpus_); }
    cpu_set_t* get() noexcept { return set_.get(); }
    bool has(unsigned cpu) const noexcept { return CPU_ISSET_S(cpu, size(), set_.get()) != 0; }
    void add(unsigned cpu) noexcept { CPU_SET_S(cpu, size(), set_.get()); }

  private:
    struct Free {
        void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
    };
    const unsigned cpus_;
    const std::unique_ptr<cpu_set_t, Free> set_;
};

constexpr unsigned mostCpus = 1u << 20;

}  // namespace

std::vector<unsigned> allowedCpus() {
    for (unsigned cpus = 1024; cpus <= mostCpus; cpus *= 2) {  // EINVAL: the kernel's mask is larger
        CpuMask mask(cpus);
        if (!mask) break;
        if (::sched_getaffinity(0, mask.size(), mask.get()) != 0) {
            if (errno == EINVAL) continue;
            break;
        }
        std::vector<unsigned> allowed;
        for (unsigned cpu = 0; cpu < cpus; ++cpu) {
            if (mask.has(cpu)) allowed.push_back(cpu);
        }
        return allowed;
    }
    return {};
}

bool bindToCpu(unsigned cpu) noexcept {
    if (cpu >= mostCpus) {
        errno = EINVAL;
        return false;
    }
    CpuMask mask(cpu + 1);
    if (!mask) {
        errno = ENOMEM;
        return false;
    }
    mask.add(cpu);
    return ::sched_setaffinity(0, mask.size(), mask.get()) == 0;
}

void bindToCpus(const std::vector<unsigned>& cpus) noexcept {
    if (cpus.empty()) return;
    CpuMask mask(cpus.back() + 1);
    if (!mask) return;
    for (const unsigned cpu : cpus) mask.add(cpu);
    static_cast<void>(::sched_setaffinity(0, mask.size(), mask.get()));
}

std::optional<std::vector<unsigned>> parseCpuList(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    std::vector<unsigned> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto number = [&](unsigned& value) {
        const auto [next, error] = std::from_chars(at, end, value);
        at = next;
        return error == std::errc() && value < mostCpus;
    };
    while (at != end) {
        unsigned first = 0;
        if (!number(first)) return std::nullopt;
        unsigned last = first;
        if (at != end && *at == '-') {
            ++at;
            if (!number(last) || last < first) return std::nullopt;
        }
        for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (at == end) break;
        if (*at != ',') return std::nullopt;
        ++at;
        if (at == end) return std::nullopt;
    }
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

}  // namespace weft::detail
