// JSON bodies and answers, by Boost.JSON. Not in <weft/weft.hpp>: a program that includes this links Boost::json, or
// has one source file that includes <boost/json/src.hpp>.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/version.hpp>
#if BOOST_VERSION < 107500
#error "Weft: <weft/http/json.hpp> needs Boost.JSON, which Boost 1.75 and later have"
#endif
#include <boost/json.hpp>

#include <weft/http/call.hpp>
#include <weft/http/error.hpp>
#include <weft/http/route_function.hpp>

namespace weft::http {

// An answer of type application/json. `value` is a boost::json::value, or anything that boost::json::value_from()
// converts: numbers, texts, containers and types with a tag_invoke() of your own. Throws what the conversion throws.
inline Response json(Status status, const boost::json::value& value) {
    return Response(status, boost::json::serialize(value), "application/json");
}
template <class T>
Response json(Status status, const T& value) {
    return json(status, boost::json::value_from(value));
}
inline Response json(const boost::json::value& value) {
    return json(Status::ok, value);
}
template <class T>
Response json(const T& value) {
    return json(Status::ok, boost::json::value_from(value));
}

// A route's function may return these.
template <class Json>
requires std::is_same_v<Json, boost::json::value> || std::is_same_v<Json, boost::json::object> ||
    std::is_same_v<Json, boost::json::array>
struct ResponseFrom<Json> {
    static Response make(Json&& value) { return json(Status::ok, boost::json::value(std::move(value))); }
};

namespace detail {

[[noreturn]] inline void refuseJson(const std::string& why) {
    throw Error(Status::badRequest, "the body is not as expected: " + why);
}

template <class Make>
auto fromBody(Make make) {
    try {
        return make();
    } catch (const Error&) {
        throw;
    } catch (const boost::system::system_error& error) {
        refuseJson(error.code().message());
    } catch (const std::out_of_range&) {
        refuseJson("a member or an element is missing");
    } catch (const std::logic_error& error) {
        refuseJson(error.what());
    }
}

}  // namespace detail

// The call's body, at most 32 levels deep, as a boost::json::value or as what boost::json::value_to<T>() makes of it.
// Throws an Error of status 400 that says what is wrong when the body is no JSON, or when the conversion throws a
// boost::system::system_error or a std::logic_error, as those of Boost.JSON do; any other exception passes.
template <class T = boost::json::value>
T fromJson(Call& call) {
    const std::string_view text = call.body().view();
    boost::system::error_code error;
    const boost::json::value value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
    if (error) throw Error(Status::badRequest, "the body is no JSON: " + error.message());
    return detail::fromBody([&] { return boost::json::value_to<T>(value); });
}

}  // namespace weft::http
