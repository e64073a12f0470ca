// The system's resolver, and the syntax of hosts.
#include <weft/framework/resolver.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>

#include <arpa/inet.h>
#include <netdb.h>

#include <weft/framework/thread_pool_resolver.hpp>
#include <weft/pipeline/detail/printable.hpp>

namespace weft {

namespace {

// Boost's base class has no virtual destructor on purpose: categories are never deleted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class ResolverCategory final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "weft.resolver"; }
    std::string message(int value) const override { return ::gai_strerror(value); }
};
#pragma GCC diagnostic pop

Resolver::Addresses addressesOf(const addrinfo* list) {
    Resolver::Addresses all;
    for (; list != nullptr; list = list->ai_next) {
        const SocketAddress address = SocketAddress::from(list->ai_addr, list->ai_addrlen);
        if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
    }
    return all;
}

Resolver::Addresses resolveBySystem(const std::string& host) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int result = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
    if (result == EAI_SYSTEM) throw SystemError(fromErrno(lastErrno()));
    if (result != 0) throw SystemError(ErrorCode(result, resolverCategory()));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, &::freeaddrinfo);
    return addressesOf(list.get());
}

// Never destroyed, because its lookups may outlive main().
struct SystemResolver {
    explicit SystemResolver(SystemResolver* inherited) : inherited(inherited) {}
    SystemResolver* const inherited;  // the parent process's, or null; reachable for leak checkers
    ThreadPoolResolver resolver;
};

bool isDigit(char c) noexcept {
    return c >= '0' && c <= '9';
}
bool isHexDigit(char c) noexcept {
    return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool mayStandInName(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '-' || c == '_' || c == '.';
}

// inet_aton(), which getaddrinfo() tries first, parses such texts as addresses.
bool endsInNumber(std::string_view host) noexcept {
    if (host.ends_with('.')) host.remove_suffix(1);
    const std::string_view last = host.substr(host.rfind('.') + 1);  // npos + 1 is 0
    if (last.empty()) return false;
    if (std::all_of(last.begin(), last.end(), isDigit)) return true;
    const bool hex = last.starts_with("0x") || last.starts_with("0X");
    return hex && std::all_of(last.begin() + 2, last.end(), isHexDigit);
}

}  // namespace

const boost::system::error_category& resolverCategory() noexcept {
    static const ResolverCategory category;
    return category;
}

ThreadPoolResolver::Lookup ThreadPoolResolver::systemLookup() {
    return resolveBySystem;
}

// A static variable of the resolver itself would have a guard, which a forked process could inherit in use.
Resolver& Resolver::system() {
    static std::atomic<SystemResolver*> newest{nullptr};  // written by the first caller of each process, read by all
    SystemResolver* found = newest.load(std::memory_order_acquire);  // [G3]
    if (found == nullptr || found->resolver.forked()) {
        auto own = std::make_unique<SystemResolver>(found);
        if (newest.compare_exchange_strong(found, own.get(), std::memory_order_release,  // [G3]
                                           std::memory_order_acquire))
            found = own.release();
    }
    return found->resolver;
}

namespace detail {

void requireHostName(std::string_view host) {
    constexpr std::size_t longest = 253;
    const bool spelled =
        !host.empty() && host.size() <= longest && std::all_of(host.begin(), host.end(), mayStandInName);
    if (spelled && !endsInNumber(host)) return;
    const char* accepted = spelled ? "a name does not end in a number, and an IPv4 address is four decimal numbers"
                                   : "give a numeric address, or a name of letters, digits, '-', '_' and '.' (the port "
                                     "is given separately)";
    throw std::invalid_argument("'" + printable(host, longest) + "' is not a host name: " + accepted);
}

bool isNumericHost(std::string_view host) noexcept {
    if (host.find('%') != std::string_view::npos) return true;  // only an address with a zone contains '%'
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    char text[INET6_ADDRSTRLEN + 1] = {};
    if (host.size() >= sizeof text || host.find('\0') != std::string_view::npos) return false;
    std::copy(host.begin(), host.end(), text);
    unsigned char bytes[sizeof(in6_addr)];
    return ::inet_pton(AF_INET, text, bytes) == 1 || ::inet_pton(AF_INET6, text, bytes) == 1;
}

}  // namespace detail
}  // namespace weft
