#include "explorer.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace weft::model {

namespace {

using Clock = std::chrono::steady_clock;

ExecutionRules rulesOf(const Options& options) {
    ExecutionRules rules;
    rules.memory = options.memory;
    rules.preemptions = options.preemptions;
    rules.skipRedundant = options.search == Search::full;
    rules.steps = options.steps;
    return rules;
}

Options withEnvironment(Options options) {
    if (const char* seed = std::getenv("WEFT_MODEL_SEED")) options.seed = std::strtoull(seed, nullptr, 10);
    if (const char* count = std::getenv("WEFT_MODEL_EXECUTIONS"))
        options.executions = std::strtoull(count, nullptr, 10);
    if (const char* seconds = std::getenv("WEFT_MODEL_SECONDS")) options.seconds = std::strtod(seconds, nullptr);
    return options;
}

Outcome unpack(std::uint64_t packed, std::size_t size) {
    Outcome outcome(size);
    for (std::size_t i = size; i > 0; --i, packed >>= 8) outcome[i - 1] = static_cast<int>(packed & 0xff);
    return outcome;
}

std::string_view digitsOf(std::string_view token) {
    const std::size_t at = token.rfind('@');
    return at == token.npos ? token : token.substr(at + 1);
}

}  // namespace

void Explorer::beginSearch(const Options& options) {
    switch (options.search) {
        case Search::random: return choices_.beginRandom(options.seed);
        case Search::pct: return choices_.beginPct(options.seed, options.pctDepth);
        default: return choices_.beginDepthFirst();
    }
}

Result Explorer::explore(const Options& options, const Scenario& scenario) {
    Result result;
    const auto start = Clock::now();
    if (options.memory.speculateLoads) learn(options, scenario);
    outcomes_.clear();
    beginSearch(options);
    runAll(options, scenario, result);
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
}

// Before loads are speculated: learns which values are ever stored where.
void Explorer::learn(Options options, const Scenario& scenario) {
    Result unused;
    options.memory.speculateLoads = false;
    options.memory.insertStores = true;
    execution_.memory().forgetLearned();
    execution_.memory().learn(true);
    beginSearch(options);
    runAll(options, scenario, unused);
    execution_.memory().learn(false);
}

void Explorer::runAll(const Options& options, const Scenario& scenario, Result& result) {
    const ExecutionRules rules = rulesOf(options);
    const auto start = Clock::now();
    const auto limit = std::chrono::duration<double>(options.seconds);
    while (result.executions < options.executions) {
        if (((result.executions + result.discarded) & 0xff) == 0xff && Clock::now() - start > limit) return;
        if (!choices_.advance()) {
            result.complete = true;
            return;
        }
        if (countEnd(execution_.run(scenario, rules), result)) continue;
        result.failure = describe(options, scenario);
        return;
    }
}

// Returns false if the execution failed.
bool Explorer::countEnd(End end, Result& result) {
    if (end == End::redundant || end == End::unredeemed) {
        ++result.discarded;
        return true;
    }
    ++result.executions;
    if (end == End::failed) return false;
    if (!execution_.hasOutcome()) return true;
    const std::uint64_t outcome = execution_.outcome();
    if (outcomes_.empty() || outcome != lastOutcome_) {
        if (outcomes_.insert(outcome).second) result.outcomes.insert(unpack(outcome, execution_.outcomeSize()));
        lastOutcome_ = outcome;
    }
    return true;
}

// Runs the failed execution again, with a trace.
Failure Explorer::describe(const Options& options, const Scenario& scenario) {
    Failure failure;
    const std::string digits = choices_.token();
    failure.token = options.name + "@" + digits;
    failure.kind = execution_.failure();
    failure.message = execution_.message();
    choices_.beginReplay(digits);
    (void)choices_.advance();
    execution_.trace(true);
    const End end = execution_.run(scenario, rulesOf(options));
    execution_.trace(false);
    failure.trace = execution_.traceText();
    if (end != End::failed || execution_.message() != failure.message) {
        failure.trace +=
            "(the replay ended differently: the scenario depends on something that the model does not control)\n";
    }
    return failure;
}

Result Explorer::replay(const Options& options, const Scenario& scenario, std::string_view token) {
    Result result;
    choices_.beginReplay(digitsOf(token));
    (void)choices_.advance();
    execution_.trace(true);
    const bool passed = countEnd(execution_.run(scenario, rulesOf(options)), result);
    execution_.trace(false);
    Failure run{execution_.failure(), execution_.message(), execution_.traceText(), std::string(token)};
    std::cout << run.trace;
    if (!passed) result.failure = std::move(run);
    return result;
}

Result explore(const Options& options, const Scenario& scenario) {
    Explorer explorer;
    const Options effective = withEnvironment(options);
    if (const char* token = std::getenv("WEFT_MODEL_REPLAY")) {
        if (std::string_view(token).starts_with(options.name + "@")) return explorer.replay(effective, scenario, token);
    }
    return explorer.explore(effective, scenario);
}

Result replay(const Options& options, const Scenario& scenario, std::string_view token) {
    return Explorer().replay(options, scenario, token);
}

std::ostream& operator<<(std::ostream& out, const Result& result) {
    out << result.executions << " interleavings, " << (result.complete ? "complete" : "not complete") << ", "
        << result.seconds << " s";
    if (result.failure) {
        out << "\n"
            << nameOf(result.failure->kind) << ": " << result.failure->message << "\n"
            << result.failure->trace << "WEFT_MODEL_REPLAY='" << result.failure->token << "'";
    }
    return out;
}

void report(const std::string& protocol, const Options& options, const Result& result, const std::string& remark) {
    std::string mode = nameOf(options.search);
    if (options.search == Search::depthFirst) mode += " " + std::to_string(options.preemptions);
    std::cout << "model | " << protocol << " | " << options.name << " | " << mode << " | " << result.executions << " | "
              << (result.complete ? "complete" : "ended by its budget") << " | " << result.seconds << " s"
              << (remark.empty() ? "" : " | ") << remark << "\n";
}

}  // namespace weft::model
