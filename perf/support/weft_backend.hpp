// The call to the backend from a fiber of Weft, through the framework's HTTP client, which keeps connections.
#pragma once

#include <weft/http/client.hpp>

#include "weft_server.hpp"

namespace weft::perf {

inline constexpr std::string_view backendPath = "/backend";

inline http::ClientOptions backendOptions() {
    http::ClientOptions options;
    options.maxPerHost = options.maxConnections = options.maxIdlePerHost = 16'384;
    return options;
}

struct Backend {
    http::Origin origin;
    http::Client client{backendOptions()};
};

// Answers with the backend's answer.
struct BackendAnswer {
    const Backend* backend;  // must outlive the server
    http::Response operator()(const http::FullRequest& request) const {
        if (request.path() != backendPath) return http::error(http::Status::notFound);
        try {
            return http::ok(backend->client.request(backend->origin, {http::Method::get, "/"}).takeBody());
        } catch (const http::ClientError& error) {
            return http::error(http::Status::badGateway, error.what());
        }
    }
};

}  // namespace weft::perf
