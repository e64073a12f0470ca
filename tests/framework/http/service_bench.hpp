// Shared by the tests of http::Service: a service on one carrier, and a client of it.
#pragma once

#include <string>

#include "examples/http_client.hpp"
#include "framework/bench.hpp"

namespace weft::test {

class ServiceBench : public ::testing::Test {
  protected:
    // Ends the server before the variables that a test has declared before it and its routes use.
    class End {
      public:
        explicit End(ServiceBench& bench) noexcept : bench_(bench) {}
        ~End() { EXPECT_TRUE(bench_.group_.shutdown(20s)); }
        End(const End&) = delete;
        End& operator=(const End&) = delete;

      private:
        ServiceBench& bench_;
    };

    // From here on the service serves.
    SocketAddress address() {
        if (!server_.valid()) server_ = service_.bind(group_, anyPort);
        return server_.localAddress();
    }
    HttpAnswer get(std::string_view target) { return HttpClient(address()).get(target); }
    HttpAnswer request(std::string_view method, std::string_view target, std::string_view body = {}) {
        const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
        return HttpClient(address()).request(method, target, length, body);
    }

    http::Service service_;
    EventLoopGroup group_{groupOptions(1)};
    Server server_;
};

}  // namespace weft::test
