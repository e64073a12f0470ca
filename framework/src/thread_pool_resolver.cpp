// Two blocking pools: the threads of one call the lookup; while any caller waits, the thread of the other fails those
// whose deadline has passed.
#include <weft/framework/thread_pool_resolver.hpp>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <netdb.h>

#include <weft/pipeline/detail/printable.hpp>
#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/detail/kept_in_fork.hpp>

#include "lookup_table.hpp"

namespace weft {

namespace {

using detail::LookupTable;

constexpr Duration longest = std::chrono::hours(24);

[[noreturn]] void refuse(const char* name, const std::string& value, const char* accepted) {
    throw std::invalid_argument("ResolverOptions::" + std::string(name) + " is " + value + "; " + accepted);
}

void requireCount(const char* name, std::size_t value, std::size_t least, std::size_t most) {
    if (value >= least && value <= most) return;
    const std::string range = std::to_string(least) + " to " + std::to_string(most) + " is accepted";
    refuse(name, std::to_string(value), range.c_str());
}

void requireTime(const char* name, Duration value) {
    if (value >= Duration::zero() && value <= longest) return;
    refuse(name, std::to_string(value.count()) + " ns", "0 to 24 h is accepted");
}

// If there is no memory for the text, bad_alloc becomes the error.
std::exception_ptr failure(const ErrorCode& error, const std::string& host, const char* remedy) noexcept {
    try {
        throw SystemError(error, "cannot resolve '" + host + "'; " + remedy);
    } catch (...) {
        return std::current_exception();
    }
}

constexpr const char* checkTheName = "check the name and the name servers, or give a numeric address";

std::string lowerCase(std::string_view host) {
    std::string lower(host);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
}

bool isNotFound(const ErrorCode& error) noexcept {
    return error.category() == resolverCategory() && (error.value() == EAI_NONAME || error.value() == EAI_NODATA);
}

ResolverOptions validated(const ResolverOptions& options) {
    options.validate();
    return options;
}

// Its threads end as soon as they have no work. They are not joined, because a lookup may never return.
BlockingPoolOptions poolOptions(const char* name, std::size_t threads, std::size_t maxQueued) {
    return {.threads = threads, .idle = Duration::zero(), .maxQueued = maxQueued, .name = name, .joinsThreads = false};
}

}  // namespace

void ResolverOptions::validate() const {
    requireCount("threads", threads, 1, 256);
    requireCount("maxWaiting", maxWaiting, 1, 1'000'000);
    requireCount("maxCached", maxCached, 0, 1'000'000);
    requireTime("positiveTime", positiveTime);
    requireTime("negativeTime", negativeTime);
    requireTime("timeout", timeout);
}

// Shared with its threads, which may outlive the resolver inside a lookup. Context in a forked process: forked() and
// resolve(), which touches nothing else there.
class ThreadPoolResolver::State : public std::enable_shared_from_this<State>, public detail::KeptInFork {
  public:
    State(const ResolverOptions& options, Lookup lookup)
        : options_(validated(options)), lookup_(std::move(lookup)), table_(options) {
        if (!lookup_) throw std::invalid_argument("ThreadPoolResolver: the lookup is an empty function");
    }

    bool forked() const noexcept { return lookups_.forked(); }
    Future<Addresses> resolve(std::string_view host, std::uint16_t port);
    void clear();
    void close() noexcept;

  private:
    using Caller = LookupTable::Caller;
    using Callers = LookupTable::Callers;
    using Answer = LookupTable::Answer;

    bool startWork() noexcept;
    void lookUpNext();
    Answer lookUp(const std::string& host) const noexcept;
    void keepTime();

    const ResolverOptions options_;
    const Lookup lookup_;
    BlockingPool lookups_{poolOptions("weft-resolver", options_.threads, options_.maxWaiting)};
    BlockingPool timekeeper_{poolOptions("weft-resolver-t", 1, 1)};
    std::mutex lock_;  // guards the members below
    LookupTable table_;
    std::size_t posted_ = 0;         // calls of lookUpNext() that have not begun: at least the queued names
    bool keeping_ = false;           // keepTime() will check the callers again
    std::condition_variable ended_;  // wakes the timekeeper when no caller waits any more
};

Future<Resolver::Addresses> ThreadPoolResolver::State::resolve(std::string_view host, std::uint16_t port) {
    Caller caller{{}, port, never, lowerCase(host)};
    Future<Addresses> future = caller.promise.future();
    std::optional<Answer> known;
    const auto refuse = [&](int error, const char* remedy) {
        known = Answer{{}, failure(fromErrno(error), caller.host, remedy), {}};
    };
    if (forked()) {
        refuse(ENOTSUP, "its resolver was created before fork(), which copies no threads: use Resolver::system(), or "
                        "create one after fork()");
    } else {
        std::lock_guard held(lock_);
        const TimePoint now = Clock::steady().now();
        if (const Answer* answer = table_.find(caller.host, now)) {
            known = *answer;
        } else if (table_.full()) {
            refuse(EAGAIN, "too many lookups are waiting: try again later, or connect to numeric addresses");
        } else {
            caller.deadline = options_.timeout == Duration::zero() ? never : deadlineAfter(now, options_.timeout);
            table_.add(std::move(caller));
            if (!startWork()) {
                caller = table_.takeNewest();
                refuse(EAGAIN, "the thread for the lookup cannot start: raise the limit of threads");
            }
        }
    }
    if (known) known->deliverTo(caller);  // listeners run outside the lock
    return future;
}

// Context: with the lock, after a caller was added. False: there is no thread for it.
bool ThreadPoolResolver::State::startWork() noexcept {
    try {
        if (options_.timeout != Duration::zero() && !keeping_) {
            timekeeper_.post([self = shared_from_this()] { self->keepTime(); });
            keeping_ = true;
        }
        if (posted_ < table_.queued()) {
            lookups_.post([self = shared_from_this()] { self->lookUpNext(); });
            ++posted_;
        }
        return true;
    } catch (const std::exception&) {  // SystemError: the first thread cannot start; bad_alloc
        return false;
    }
}

// Finds no name if the callers of one have timed out meanwhile.
void ThreadPoolResolver::State::lookUpNext() {
    std::unique_lock held(lock_);
    --posted_;
    const std::optional<std::string> host = table_.takeQueued();
    if (!host) return;
    held.unlock();
    const Answer answer = lookUp(*host);
    held.lock();
    Callers callers = table_.finish(*host, answer, Clock::steady().now());
    if (!table_.hasCallers()) ended_.notify_all();
    held.unlock();
    for (Caller& caller : callers) answer.deliverTo(caller);
}

ThreadPoolResolver::State::Answer ThreadPoolResolver::State::lookUp(const std::string& host) const noexcept {
    try {
        Answer answer{lookup_(host), nullptr, options_.positiveTime};
        if (!answer.addresses.empty()) return answer;
        return {{}, failure(ErrorCode(EAI_NODATA, resolverCategory()), host, checkTheName), options_.negativeTime};
    } catch (const SystemError& error) {
        const bool none = isNotFound(error.code());
        return {{}, failure(error.code(), host, checkTheName), none ? options_.negativeTime : Duration::zero()};
    } catch (...) {
        return {{}, std::current_exception(), Duration::zero()};
    }
}

void ThreadPoolResolver::State::keepTime() {
    std::unique_lock held(lock_);
    while (table_.hasCallers()) {
        ended_.wait_until(held, table_.nextDeadline());
        Callers late = table_.takeLate(Clock::steady().now());
        if (late.empty()) continue;
        held.unlock();
        for (Caller& caller : late) {
            caller.promise.setError(failure(timedOut(), caller.host, checkTheName));
        }
        late.clear();
        held.lock();
    }
    keeping_ = false;
}

void ThreadPoolResolver::State::clear() {
    std::lock_guard held(lock_);
    table_.clear();
}

void ThreadPoolResolver::State::close() noexcept {
    Callers abandoned;
    {
        std::lock_guard held(lock_);
        abandoned = table_.takeAll();
        ended_.notify_all();
    }
    for (Caller& caller : abandoned) {
        caller.promise.setError(failure(operationAborted(), caller.host, "its resolver is being destroyed"));
    }
}

ThreadPoolResolver::ThreadPoolResolver(const ResolverOptions& options, Lookup lookup)
    : state_(std::make_shared<State>(options, std::move(lookup))) {}

ThreadPoolResolver::~ThreadPoolResolver() {
    if (forked()) {
        detail::KeptInFork::keep(std::move(state_));
    } else {
        state_->close();
    }
}

bool ThreadPoolResolver::forked() const noexcept {
    return state_->forked();
}

Future<Resolver::Addresses> ThreadPoolResolver::resolve(std::string_view host, std::uint16_t port) {
    Promise<Addresses> atOnce;
    try {
        if (!detail::isNumericHost(host)) {
            detail::requireHostName(host);
            return state_->resolve(host, port);
        }
        atOnce.setValue({SocketAddress(host, port)});
    } catch (const std::invalid_argument& refused) {
        atOnce.setError(failure(fromErrno(EINVAL), detail::printable(host), refused.what()));
    }
    return atOnce.future();
}

void ThreadPoolResolver::clear() {
    if (!forked()) state_->clear();
}

}  // namespace weft
