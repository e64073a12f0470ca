#include "twins.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

namespace weft::model {

namespace {

// All sites of all cases. Random runs find the rare ones that a depth-first search reaches late.
std::vector<Site> visitedSites(Explorer& explorer, std::span<const Case> cases) {
    std::vector<Site> sites;
    for (const Case& tested : cases) {
        Options options = tested.options;
        options.search = Search::random;
        options.executions = 5000;
        explorer.sites().collect(true);
        explorer.explore(options, tested.scenario);
        explorer.sites().collect(false);
        for (const Site& site : explorer.sites().collected()) {
            const bool known =
                std::any_of(sites.begin(), sites.end(), [&](const Site& other) { return other.isAt(site.where); });
            if (!known) sites.push_back(site);
        }
    }
    std::sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) {
        return std::pair(a.file(), a.where.line()) < std::pair(b.file(), b.where.line());
    });
    return sites;
}

std::string baseName(const Site& site) {
    return site.file() + " " + site.function() + " " + nameOf(site.operation);
}

// Sites in source order; a second load of one function is called "load#2".
std::vector<std::string> namesOf(const std::vector<Site>& sites) {
    std::map<std::string, unsigned> count;
    std::vector<std::string> names;
    for (const Site& site : sites) {
        const std::string base = baseName(site);
        const unsigned ordinal = ++count[base];
        names.push_back(ordinal == 1 ? base : base + "#" + std::to_string(ordinal));
    }
    return names;
}

std::string nameOfTwin(const Weakening& weakening, const std::string& site) {
    const Orders& from = weakening.site.orders;
    std::string name = site;
    if (weakening.site.operation == Operation::compareExchange) name += weakening.ofFailure ? ".failure" : ".success";
    return name + " " + nameOf(weakening.ofFailure ? from.failure : from.success) + "->" + nameOf(weakening.to);
}

Result huntIn(Explorer& explorer, const Case& broken, const Hunt& hunt) {
    Options options = broken.options;
    options.preemptions = hunt.preemptions;
    options.seconds = hunt.seconds;
    Result total;
    const std::pair<Search, std::uint64_t> stages[] = {
        {Search::random, hunt.random}, {Search::pct, hunt.pct}, {Search::depthFirst, hunt.depthFirst}};
    for (const auto& [search, executions] : stages) {
        options.search = search;
        options.executions = executions;
        options.memory.insertStores = broken.options.memory.insertStores || search != Search::depthFirst;
        Result result = explorer.explore(options, broken.scenario);
        result.executions += total.executions;
        result.seconds += total.seconds;
        total = std::move(result);
        if (!total.passed()) break;
    }
    return total;
}

// Weaker in the sense that whatever kills `stronger` could kill `weaker` too.
bool implies(const Weakening& weaker, const Weakening& stronger) {
    return weaker.ofFailure == stronger.ofFailure &&
           (weaker.to == std::memory_order_relaxed || stronger.to == std::memory_order_acq_rel);
}

Twin huntWeakened(Explorer& explorer, std::span<const Case> cases, std::vector<Weakening> weakened, const Hunt& hunt) {
    Twin twin;
    explorer.sites().weaken(std::move(weakened));
    for (const Case& tested : cases) {
        const Result result = huntIn(explorer, tested, hunt);
        twin.executions += result.executions;
        if (result.passed()) continue;
        twin.killedBy = result.failure->kind;
        twin.killedIn = tested.options.name;
        twin.message = result.failure->message;
        if (std::getenv("WEFT_MODEL_VERBOSE")) std::cout << result << "\n";
        break;
    }
    explorer.sites().weaken({});
    return twin;
}

struct NamedWeakening {
    std::string name;
    Weakening weakening;
};

std::vector<NamedWeakening> allWeakenings(Explorer& explorer, std::span<const Case> cases, const Hunt& hunt) {
    std::vector<NamedWeakening> list;
    const std::vector<Site> sites = visitedSites(explorer, cases);
    const std::vector<std::string> names = namesOf(sites);
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const bool wanted =
            hunt.files.empty() || std::find(hunt.files.begin(), hunt.files.end(), sites[i].file()) != hunt.files.end();
        if (!wanted) continue;
        for (const Weakening& weakening : weakeningsOf(sites[i])) {
            list.push_back({nameOfTwin(weakening, names[i]), weakening});
        }
    }
    return list;
}

bool matches(std::string_view pattern, std::string_view name) {
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return pattern == name;
}

}  // namespace

std::vector<Twin> weakenings(std::span<const Case> cases, const Hunt& hunt) {
    Explorer explorer;
    std::vector<Twin> twins;
    std::vector<Weakening> survived;
    for (const NamedWeakening& named : allWeakenings(explorer, cases, hunt)) {
        const bool implied = std::any_of(survived.begin(), survived.end(), [&](const Weakening& weaker) {
            return weaker.site.isAt(named.weakening.site.where) && implies(weaker, named.weakening);
        });
        Twin twin;
        if (!implied) twin = huntWeakened(explorer, cases, {named.weakening}, hunt);
        twin.name = named.name;
        twin.edges = named.weakening.site.edges();
        twin.implied = implied;
        if (!twin.killed()) survived.push_back(named.weakening);
        twins.push_back(std::move(twin));
    }
    return twins;
}

Twin weakenedTogether(std::span<const Case> cases, std::span<const std::string_view> names, const Hunt& hunt) {
    Explorer explorer;
    std::vector<Weakening> chosen;
    std::string joined;
    for (const NamedWeakening& named : allWeakenings(explorer, cases, hunt)) {
        if (std::find(names.begin(), names.end(), named.name) == names.end()) continue;
        chosen.push_back(named.weakening);
        joined += (joined.empty() ? "" : " + ") + named.name;
    }
    if (chosen.size() != names.size()) return {};  // survives: there is no such twin
    Twin twin = huntWeakened(explorer, cases, std::move(chosen), hunt);
    twin.name = joined;
    return twin;
}

std::vector<std::string> complaints(std::span<const Twin> twins, std::span<const Survivor> survivors) {
    std::vector<std::string> list;
    for (const Twin& twin : twins) {
        const bool listed = std::any_of(survivors.begin(), survivors.end(),
                                        [&](const Survivor& survivor) { return matches(survivor.twin, twin.name); });
        if (twin.killed() && listed) list.push_back("listed as a survivor, but killed: " + twin.name);
        if (!twin.killed() && !listed) list.push_back("survives without a reason: " + twin.name);
    }
    for (const Survivor& survivor : survivors) {
        const bool exists = std::any_of(twins.begin(), twins.end(),
                                        [&](const Twin& twin) { return matches(survivor.twin, twin.name); });
        if (!exists) list.push_back("no such twin: " + std::string(survivor.twin));
        if (survivor.reason.empty()) list.push_back("no reason: " + std::string(survivor.twin));
    }
    return list;
}

void report(const Twin& twin) {
    std::cout << "twin  | " << twin.name;
    for (const std::string& edge : twin.edges) std::cout << " [" << edge << "]";
    if (twin.killed()) {
        std::cout << " | killed: " << nameOf(twin.killedBy) << " in " << twin.killedIn << ", execution "
                  << twin.executions << "\n";
    } else {
        std::cout << " | survives" << (twin.implied ? ", since a weaker one does" : "") << "\n";
    }
}

void report(const std::string& protocol, std::span<const Twin> twins) {
    std::map<FailureKind, unsigned> kills;
    for (const Twin& twin : twins) {
        report(twin);
        ++kills[twin.killedBy];
    }
    std::cout << "twins | " << protocol << " | " << twins.size() << " orders weakened | killed by";
    for (const auto& [kind, count] : kills) {
        if (kind != FailureKind::none) std::cout << " " << nameOf(kind) << " " << count << ",";
    }
    std::cout << " survivors " << kills[FailureKind::none] << "\n";
}

Result hunt(const Case& broken, const Hunt& how) {
    Explorer explorer;
    return huntIn(explorer, broken, how);
}

}  // namespace weft::model
