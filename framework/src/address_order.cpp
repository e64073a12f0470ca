#include <weft/framework/detail/address_order.hpp>

#include <algorithm>
#include <cstddef>

namespace weft::detail {

Resolver::Addresses alternating(const Resolver::Addresses& addresses) {
    Resolver::Addresses firsts;   // of the family of the first address
    Resolver::Addresses seconds;  // of the other
    for (const SocketAddress& address : addresses)
        (address.family() == addresses.front().family() ? firsts : seconds).push_back(address);
    Resolver::Addresses order;
    order.reserve(addresses.size());
    for (std::size_t i = 0; i < std::max(firsts.size(), seconds.size()); ++i) {
        if (i < firsts.size()) order.push_back(firsts[i]);
        if (i < seconds.size()) order.push_back(seconds[i]);
    }
    return order;
}

}  // namespace weft::detail
