// GivenAddresses: a Resolver whose answer for every name is the same list of addresses, at once.
#pragma once

#include <string_view>
#include <utility>

#include <weft/framework/resolver.hpp>

namespace weft::test {

class GivenAddresses final : public Resolver {
  public:
    explicit GivenAddresses(Addresses addresses) : addresses_(std::move(addresses)) {}
    Future<Addresses> resolve(std::string_view, std::uint16_t) override {
        Promise<Addresses> promise;
        promise.setValue(Addresses(addresses_));
        return promise.future();
    }

  private:
    const Addresses addresses_;
};

}  // namespace weft::test
