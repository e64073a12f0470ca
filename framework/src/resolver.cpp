#include <weft/framework/resolver.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>

namespace weft {

namespace {

// Boost gives the base class no virtual destructor on purpose: categories are never deleted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class ResolverCategory final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "weft.resolver"; }
    std::string message(int value) const override { return ::gai_strerror(value); }
};
#pragma GCC diagnostic pop

std::exception_ptr failure(const ErrorCode& error, const std::string& host, const char* remedy) {
    return std::make_exception_ptr(SystemError(error, "cannot resolve '" + host + "'; " + remedy));
}

// Signals are for the program's own threads.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &former_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

  private:
    sigset_t former_;
};

class SystemResolver final : public Resolver {
  public:
    Future<Addresses> resolve(std::string_view host, std::uint16_t port) override {
        Question question{std::string(host), port, {}};
        Future<Addresses> answer = question.promise.future();
        std::lock_guard held(lock_);
        if (waiting_.size() >= maxWaiting) {
            question.promise.setError(failure(fromErrno(EAGAIN), question.host,
                                              "too many names are being resolved: try again, or connect to addresses"));
            return answer;
        }
        waiting_.push_back(std::move(question));
        if (!running_) startThread();
        return answer;
    }

  private:
    struct Question {
        std::string host;
        std::uint16_t port;
        Promise<Addresses> promise;
    };

    // Detached: it may be inside getaddrinfo() when the process ends.
    void startThread() {
        try {
            const SignalsBlocked blocked;
            std::thread([this] { run(); }).detach();
            running_ = true;
        } catch (const std::system_error& refused) {
            Question& question = waiting_.back();
            question.promise.setError(failure(fromErrno(refused.code().value()), question.host,
                                              "its helper thread cannot start: raise the limit of threads"));
            waiting_.pop_back();
        }
    }

    void run() {
        ::pthread_setname_np(::pthread_self(), "weft-resolver");
        while (std::optional<Question> question = next()) answer(*question);
    }

    std::optional<Question> next() {
        std::lock_guard held(lock_);
        running_ = !waiting_.empty();
        if (!running_) return std::nullopt;
        std::optional<Question> question(std::move(waiting_.front()));
        waiting_.pop_front();
        return question;
    }

    static void answer(Question& question) {
        addrinfo wanted{};
        wanted.ai_family = AF_UNSPEC;
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        const int result = ::getaddrinfo(question.host.c_str(), nullptr, &wanted, &found);
        if (result != 0) {
            const ErrorCode error =
                result == EAI_SYSTEM ? fromErrno(lastErrno()) : ErrorCode(result, resolverCategory());
            question.promise.setError(
                failure(error, question.host, "check the name and the name servers, or give a numeric address"));
            return;
        }
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, &::freeaddrinfo);
        question.promise.setValue(addressesOf(list.get(), question.port));
    }

    static Addresses addressesOf(const addrinfo* list, std::uint16_t port) {
        Addresses all;
        for (; list != nullptr; list = list->ai_next) {
            SocketAddress address = SocketAddress::from(list->ai_addr, list->ai_addrlen);
            address.setPort(port);
            if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
        }
        return all;
    }

    std::mutex lock_;  // guards what follows
    std::deque<Question> waiting_;
    bool running_ = false;  // the thread is there and will look again
};

bool mayStandInName(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

}  // namespace

const boost::system::error_category& resolverCategory() noexcept {
    static const ResolverCategory category;
    return category;
}

// Never destroyed: its thread may outlive main().
Resolver& Resolver::system() {
    static SystemResolver& resolver = *new SystemResolver;
    return resolver;
}

namespace detail {

void requireHostName(std::string_view host) {
    constexpr std::size_t longest = 253;
    if (!host.empty() && host.size() <= longest && std::all_of(host.begin(), host.end(), mayStandInName)) return;
    throw std::invalid_argument(
        "'" + std::string(host.substr(0, longest)) +
        "' is no host: give a numeric address, or a name of letters, digits, '-', '_' and '.' " +
        "(the port is given apart)");
}

bool isNumericHost(std::string_view host) noexcept {
    if (host.empty()) return true;
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    char text[INET6_ADDRSTRLEN + 1] = {};
    if (host.size() >= sizeof text) return false;
    std::copy(host.begin(), host.end(), text);
    unsigned char bytes[sizeof(in6_addr)];
    return ::inet_pton(AF_INET, text, bytes) == 1 || ::inet_pton(AF_INET6, text, bytes) == 1;
}

}  // namespace detail
}  // namespace weft
