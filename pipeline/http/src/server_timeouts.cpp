#include <weft/http/server_timeouts.hpp>

#include <stdexcept>
#include <string>

namespace weft::http {
namespace {

void require(const char* name, Duration value) {
    constexpr Duration least = std::chrono::milliseconds(10);
    constexpr Duration most = std::chrono::hours(24);
    if (value == Duration::zero() || (value >= least && value <= most)) return;
    throw std::invalid_argument("weft::http::ServerTimeouts::" + std::string(name) + " is " +
                                std::to_string(value.count()) + " ns; accepted: 0 (no limit), or 10 ms to 24 h");
}

}  // namespace

void ServerTimeouts::validate() const {
    require("head", head);
    require("body", body);
    require("idle", idle);
    require("stall", stall);
}

}  // namespace weft::http
