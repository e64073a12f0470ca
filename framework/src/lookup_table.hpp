// LookupTable: what a ThreadPoolResolver knows: who waits for which name, which names wait for a thread, and which
// answers are still good. It knows neither threads nor locks, and takes the time as an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <weft/framework/thread_pool_resolver.hpp>

namespace weft::detail {

// Context: its owner's lock. Members that may throw bad_alloc leave the table as it was.
class LookupTable {
  public:
    using Addresses = Resolver::Addresses;

    struct Caller {
        Promise<Addresses> promise;
        std::uint16_t port;
        TimePoint deadline;
        std::string host;  // the table's key
    };
    using Callers = std::list<Caller>;  // oldest first, so that the deadlines are in order, too

    // An answer: addresses, or a failure.
    struct Answer {
        Addresses addresses;
        std::exception_ptr failure;
        Duration good{};  // how long it may be used again

        // Tells a caller. Never throws: without memory for the addresses that is the error.
        void tell(Caller& caller) const noexcept;
    };

    explicit LookupTable(const ResolverOptions& options) noexcept : options_(options) {}

    bool full() const noexcept { return callers_.size() >= options_.maxWaiting; }
    // The answer that is good at `now`; null: there is none. Lifetime: until the next call.
    const Answer* find(const std::string& host, TimePoint now) noexcept;
    // Waits for the name, and queues it when no other caller has.
    void add(Caller&& caller);
    // Takes the caller that was added last back out.
    Callers takeNewest() noexcept;

    bool hasQueued() const noexcept { return !queue_.empty(); }
    // The next name to look up; its callers go on waiting.
    std::optional<std::string> takeQueued() noexcept;
    // The name has been looked up: keeps the answer if it may be used again, returns its callers.
    Callers finish(const std::string& host, const Answer& answer, TimePoint now) noexcept;

    // When the next caller's time ends; never: there is no caller, or no limit.
    Deadline nextDeadline() const noexcept { return callers_.empty() ? never : callers_.front().deadline; }
    bool hasCallers() const noexcept { return !callers_.empty(); }
    // The callers whose time has ended. A name that nobody waits for any more is not looked up.
    Callers takeLate(TimePoint now) noexcept;
    Callers takeAll() noexcept;

    void clear() noexcept;  // the answers

  private:
    enum class Stage : std::uint8_t { queued, running, known };
    struct Name {
        Stage stage = Stage::queued;
        std::list<std::string>::iterator place;  // in queue_, when queued
        std::deque<Callers::iterator> callers;   // while queued or running; oldest first
        Answer answer;                           // when known
        TimePoint until{};                       // ... good until then
    };
    using Names = std::unordered_map<std::string, Name>;

    void forgetUnwanted(Names::iterator name) noexcept;
    void keep(Names::iterator name, const Answer& answer, TimePoint now);
    void makeRoom(TimePoint now) noexcept;

    const ResolverOptions options_;
    Names names_;
    std::list<std::string> queue_;
    Callers callers_;
    std::size_t known_ = 0;
};

}  // namespace weft::detail
