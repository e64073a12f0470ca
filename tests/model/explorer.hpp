// Explorer: runs a scenario in every interleaving that its options ask for, and reports what it finds. The public
// interface of the model checker; README.md shows how to write a scenario.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "execution.hpp"

namespace weft::model {

// Builds a scenario. Context: the scenario function, which runs once per execution.
class ModelRun {
  public:
    explicit ModelRun(Execution& execution) noexcept : execution_(&execution) {}

    // Creates an object that lives until the end of the execution, or until destroy(). Each execution uses the same
    // memory.
    template <class T, class... Args>
    T& make(Args&&... args) {
        T* object = new (execution_->allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
        execution_->atEnd(object, [](void* owned) { static_cast<T*>(owned)->~T(); });
        return *object;
    }
    // Adds a thread. Its name must outlive the execution (a literal).
    void thread(const char* name, std::function<void()> body) { execution_->addThread(name, std::move(body)); }
    // Runs after all threads have ended, and sees everything that they have done.
    void finally(std::function<void()> body) { execution_->setFinally(std::move(body)); }
    // Names for the trace, in the order of construction of the atomics.
    void name(std::initializer_list<const char*> names) { execution_->nameLocations(names); }

  private:
    Execution* execution_;
};

// Ends the life of an object that make() created. Reports later uses of its atomics and plain data, and earlier ones
// that do not happen before this call. Context: any model thread.
template <class T>
void destroy(T& object) {
    Execution::current().forget(&object);
    object.~T();
}

// The outcome of this execution, as up to eight numbers below 256. Result::outcomes collects the distinct ones.
inline void observe(std::initializer_list<int> values) {
    Execution::current().observe(values);
}

inline void assertThat(bool condition, const char* message) {
    if (!condition) Execution::current().fail(FailureKind::assertion, message);
}

struct Options {
    std::string name = "scenario";
    Search search = Search::depthFirst;
    unsigned preemptions = 2;  // depth-first only
    std::uint64_t executions = 2'000'000;
    double seconds = 30;
    std::uint64_t seed = 1;
    unsigned pctDepth = 3;
    unsigned steps = 1000;
    MemoryRules memory;
};

struct Failure {
    FailureKind kind = FailureKind::none;
    std::string message;
    std::string trace;
    std::string token;
};

using Outcome = std::vector<int>;

struct Result {
    std::uint64_t executions = 0;  // interleavings
    std::uint64_t discarded = 0;   // cut short as redundant, or speculated on a store that never came
    bool complete = false;         // nothing is left to explore within the options
    std::set<Outcome> outcomes;
    std::optional<Failure> failure;
    double seconds = 0;

    bool passed() const noexcept { return !failure.has_value(); }
};
std::ostream& operator<<(std::ostream& out, const Result& result);

// Stops at the first failure. WEFT_MODEL_SEED, WEFT_MODEL_EXECUTIONS and WEFT_MODEL_SECONDS override the options;
// WEFT_MODEL_REPLAY=<name>@<digits> replays that execution of the scenario of that name.
Result explore(const Options& options, const Scenario& scenario);
// Replays one execution exactly; the result carries its trace even if it passes.
Result replay(const Options& options, const Scenario& scenario, std::string_view token);

// One line, as docs/explanation/testing.md shows it.
void report(const std::string& protocol, const Options& options, const Result& result, const std::string& remark = {});

// Explorer: explores one scenario any number of times (twins.cpp weakens a different site each time).
class Explorer {
  public:
    Explorer() : execution_(choices_) {}

    Result explore(const Options& options, const Scenario& scenario);
    Result replay(const Options& options, const Scenario& scenario, std::string_view token);
    Sites& sites() noexcept { return execution_.sites(); }

  private:
    void beginSearch(const Options& options);
    void learn(Options options, const Scenario& scenario);
    void runAll(const Options& options, const Scenario& scenario, Result& result);
    bool countEnd(End end, Result& result);
    Failure describe(const Options& options, const Scenario& scenario);

    Choices choices_;
    Execution execution_;
    std::uint64_t lastOutcome_ = 0;
    std::set<std::uint64_t> outcomes_;
};

}  // namespace weft::model
