// LookupTable: the state of a ThreadPoolResolver: which callers wait for which name, which names wait for a thread, and
// which answers are cached. It knows neither threads nor locks, and takes the time as an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include <weft/framework/thread_pool_resolver.hpp>

namespace weft::detail {

// Context: under its owner's lock. Members that may throw bad_alloc give the strong guarantee.
class LookupTable {
  public:
    using Addresses = Resolver::Addresses;

    struct Caller {
        Promise<Addresses> promise;
        std::uint16_t port;
        TimePoint deadline;
        std::string host;  // the table's key
    };
    using Callers = std::list<Caller>;  // oldest first, so in order of their deadlines too

    // An answer: addresses, or a failure.
    struct Answer {
        Addresses addresses;
        std::exception_ptr failure;
        Duration good{};  // how long it may be cached

        // Completes the caller's promise. Never throws; if there is no memory for the addresses, bad_alloc is the
        // error.
        void deliverTo(Caller& caller) const noexcept;
    };

    explicit LookupTable(const ResolverOptions& options) noexcept : options_(options) {}

    bool full() const noexcept { return callers_.size() >= options_.maxWaiting; }
    // The cached answer that is valid at `now`, or null. Lifetime: until the next call.
    const Answer* find(const std::string& host, TimePoint now) noexcept;
    // Adds a caller that waits for the name; queues the name if it is the first.
    void add(Caller&& caller);
    // Removes and returns the caller that was added last.
    Caller takeNewest() noexcept;

    std::size_t queued() const noexcept { return queue_.size(); }  // names
    // The next name to look up; its callers keep waiting.
    std::optional<std::string> takeQueued() noexcept;
    // Called after a lookup. Caches the answer if allowed, and returns the callers of the name.
    Callers finish(const std::string& host, const Answer& answer, TimePoint now) noexcept;

    // The earliest deadline of a caller; `never` if there is no caller or no limit.
    Deadline nextDeadline() const noexcept { return callers_.empty() ? never : callers_.front().deadline; }
    bool hasCallers() const noexcept { return !callers_.empty(); }
    // Removes and returns the callers whose deadline has passed. Queued names without callers are dropped.
    Callers takeLate(TimePoint now) noexcept;
    Callers takeAll() noexcept { return takeLate(never); }

    void clear() noexcept;  // drops the cached answers

  private:
    enum class Stage : std::uint8_t { queued, running, known };
    struct Name {
        Stage stage = Stage::queued;
        std::list<std::string>::iterator place;  // in queue_, when queued
        std::deque<Callers::iterator> callers;   // while queued or running; oldest first
        Answer answer;                           // when known
        TimePoint until{};                       // ... valid until then
    };
    using Names = std::unordered_map<std::string, Name>;

    void forgetUnwanted(Names::iterator name) noexcept;
    void keep(Names::iterator name, const Answer& answer, TimePoint now);
    void makeRoom(TimePoint now) noexcept;

    const ResolverOptions options_;
    Names names_;
    std::list<std::string> queue_;
    Callers callers_;
    std::size_t answers_ = 0;
};

}  // namespace weft::detail
