// ThreadPoolResolver: a Resolver over a lookup that blocks: a few threads call it, and its answers are used again for a
// while.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <weft/framework/resolver.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {

// What a ThreadPoolResolver may cost. Times are 0 to 24 h.
struct ResolverOptions {
    // Lookups at the same time, 1 to 256, each on a thread of its own. 8: a name whose servers do not answer holds one
    // for as long as /etc/resolv.conf allows (5 to 30 s), and no more than one, however often it is asked for.
    unsigned threads = 8;
    // Calls that wait for an answer, 1 to 1,000,000; one more fails with EAGAIN. About 200 bytes each.
    std::size_t maxWaiting = 16 * 1024;
    // Names whose answers are kept, 0 to 1,000,000; beyond it the answer that would expire first is dropped.
    std::size_t maxCached = 1024;
    // How long addresses are used again; 0: not at all. getaddrinfo() does not tell the records' time to live. 30 s:
    // the usual compromise between load on the name servers and following a change.
    Duration positiveTime = std::chrono::seconds(30);
    // How long a name is taken not to exist (EAI_NONAME); 0: not at all. Short, since a name that is being set up must
    // soon be found. Other failures are never kept.
    Duration negativeTime = std::chrono::seconds(5);
    // From a call to its answer; then it fails with ETIMEDOUT. 0: no limit. The lookup goes on, and its answer is kept.
    Duration timeout = std::chrono::seconds(10);

    // Throws std::invalid_argument naming the option, its value and what is accepted.
    void validate() const;
};

// Calls for a name that is being looked up wait for that lookup; names are compared without regard to case. Lookups
// begin in the order of the calls. Threads start with the first name that needs them and end when none is left; they
// take no signal of the process. Context: any thread.
class ThreadPoolResolver final : public Resolver {
  public:
    // Returns the addresses of `host` (lower case), whatever their port; throws SystemError. EAI_NONAME and EAI_NODATA
    // of resolverCategory() mean that there is no such name. Other exceptions reach every caller as they are; an empty
    // list counts as EAI_NODATA. Called by several threads at once.
    using Lookup = std::function<Addresses(const std::string& host)>;

    // Throws std::invalid_argument for options out of range or an empty function.
    explicit ThreadPoolResolver(const ResolverOptions& options = {}, Lookup lookup = systemLookup());
    // Fails what waits with operation_aborted. Does not wait for lookups that are running: what they use must outlive
    // them.
    ~ThreadPoolResolver() override;

    // A numeric host is answered at once. Fails with EINVAL for a text that can be no host.
    Future<Addresses> resolve(std::string_view host, std::uint16_t port) override;

    // Forgets all answers.
    void clear();

    // getaddrinfo().
    static Lookup systemLookup();

  private:
    class State;
    const std::shared_ptr<State> state_;
};

}  // namespace weft
