#include <weft/http/path_parameters.hpp>

#include <stdexcept>

namespace weft::http {

std::string_view PathParameters::operator[](std::string_view name) const {
    for (const auto& [its, value] : values_) {
        if (its == name) return value;
    }
    throw std::out_of_range("http::PathParameters: the route's pattern has no {" + std::string(name) + "}");
}

}  // namespace weft::http
