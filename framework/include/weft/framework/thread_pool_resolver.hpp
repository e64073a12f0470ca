// ThreadPoolResolver: a Resolver that calls a blocking lookup on a few threads and caches its answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <weft/framework/resolver.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {

// Limits of a ThreadPoolResolver. Times are 0 to 24 h.
struct ResolverOptions {
    // Concurrent lookups, 1 to 256, each on its own thread. 8: a name whose servers do not answer holds one thread for
    // as long as /etc/resolv.conf allows (5 to 30 s), but only one, however many calls ask for it.
    unsigned threads = 8;
    // Calls that may wait for an answer, 1 to 1,000,000; further calls fail with EAGAIN. About 200 bytes each.
    std::size_t maxWaiting = 16 * 1024;
    // Names with cached answers, 0 to 1,000,000. At the limit, the answer that would expire first is dropped.
    std::size_t maxCached = 1024;
    // How long addresses stay cached; 0: not at all. getaddrinfo() does not report the records' time to live. 30 s is
    // the usual compromise between the load on name servers and following a change.
    Duration positiveTime = std::chrono::seconds(30);
    // How long "no such name" (EAI_NONAME) stays cached; 0: not at all. It is short so that a name just set up is found
    // soon. Other failures are never cached.
    Duration negativeTime = std::chrono::seconds(5);
    // Time from a call to its answer; a late call fails with ETIMEDOUT. 0: no limit. The lookup continues, and its
    // answer is cached.
    Duration timeout = std::chrono::seconds(10);

    // Throws std::invalid_argument naming the option, its value and what is accepted.
    void validate() const;
};

// Calls for a name that is being looked up wait for that lookup; names compare without regard to case. Lookups start in
// the order of the calls. They run on a BlockingPool, whose threads start with the first name that needs them and end
// when no lookup is left. Context: any thread.
class ThreadPoolResolver final : public Resolver {
  public:
    // Returns the addresses of `host` (lower case); their ports are ignored. Throws SystemError. EAI_NONAME and
    // EAI_NODATA of resolverCategory() mean that the name does not exist. Other exceptions reach every caller
    // unchanged; an empty list counts as EAI_NODATA. Context: several threads at once.
    using Lookup = std::function<Addresses(const std::string& host)>;

    // Throws std::invalid_argument for options out of range or an empty `lookup`.
    explicit ThreadPoolResolver(const ResolverOptions& options = {}, Lookup lookup = systemLookup());
    // Fails waiting calls with operation_aborted. Does not wait for running lookups: everything they use must outlive
    // them. If forked(), it does nothing, and the resolver's memory stays until the process ends.
    ~ThreadPoolResolver() override;

    // Resolves a numeric host at once. Fails with EINVAL for text that is not a valid host, and with ENOTSUP for a name
    // if forked().
    Future<Addresses> resolve(std::string_view host, std::uint16_t port) override;

    // Clears the cache. Does nothing if forked().
    void clear();

    // True in a process that was forked after the resolver was created: it has no threads there. Any thread.
    bool forked() const noexcept;

    // getaddrinfo().
    static Lookup systemLookup();

  private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace weft
