// Sites: the places in the source with atomic operations, and the orders that they specify. The explorer can record the
// sites that a scenario visits, and can weaken the orders of some of them while it runs. It reads a site's edge ids,
// `[K2]`, from the source text.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace weft::model {

enum class Operation : std::uint8_t {
    load,
    store,
    exchange,
    fetchAdd,
    fetchSub,
    fetchOr,
    fetchAnd,
    fetchXor,
    compareExchange,
    fence,
};

const char* nameOf(Operation operation) noexcept;
const char* nameOf(std::memory_order order) noexcept;

struct Orders {
    std::memory_order success;
    std::memory_order failure = std::memory_order_relaxed;  // of a compare-exchange
    bool operator==(const Orders&) const = default;
};

struct Site {
    std::source_location where;
    Operation operation;
    Orders orders;

    bool isAt(const std::source_location& other) const noexcept;
    std::string function() const;            // its unqualified name: "takeAll"
    std::string file() const;                // "in_tray"
    std::vector<std::string> edges() const;  // ids in the comments of the expression, otherwise above it
};

// One site with one order replaced by a weaker one.
struct Weakening {
    Site site;
    bool ofFailure = false;  // the order of a failed compare-exchange
    std::memory_order to = std::memory_order_relaxed;
};

class Sites {
  public:
    // Returns the orders that the operation must use.
    Orders visit(const std::source_location& where, Operation operation, Orders orders) {
        return active_ ? visitActive(where, operation, orders) : orders;
    }

    void collect(bool on);
    // Takes effect from now on; an empty list restores the orders of the source.
    void weaken(std::vector<Weakening> weakenings);
    const std::vector<Site>& collected() const noexcept { return collected_; }

  private:
    Orders visitActive(const std::source_location& where, Operation operation, Orders orders);
    void note(const std::source_location& where, Operation operation, Orders orders);

    bool active_ = false;
    bool collecting_ = false;
    std::vector<Weakening> weakenings_;
    std::vector<Site> collected_;
};

// The text of a line of a source file, without the blanks around it; empty if there is none.
std::string sourceLine(std::string_view file, unsigned line);

// The legal orders weaker than the site's, the weakest first.
std::vector<Weakening> weakeningsOf(const Site& site);

}  // namespace weft::model
