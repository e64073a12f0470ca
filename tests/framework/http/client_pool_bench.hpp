// ClientPoolTest: the fixture of the tests of http::Client's connections and requests, and options of a client that
// differ from the defaults in one field.
#pragma once

#include <cstddef>

#include "framework/http/client_bench.hpp"

namespace weft::test {

class ClientPoolTest : public ClientBench {};

inline http::ClientOptions with(std::size_t http::ClientOptions::*field, std::size_t value) {
    http::ClientOptions options;
    options.*field = value;
    return options;
}

}  // namespace weft::test
