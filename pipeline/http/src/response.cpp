#include <weft/http/response.hpp>

#include <string>

#include "character_class.hpp"

namespace weft::http {

Response ok(std::string_view body, std::string_view contentType) {
    return ok(Buffer::copyOf(body), contentType);
}

Response error(Status status, std::string_view reason) {
    std::string text = std::to_string(codeOf(status));
    text.append(" ").append(reasonPhrase(status));
    if (!reason.empty()) text.append(": ").append(reason);
    text.append("\n");
    return Response(status, Buffer::copyOf(text), "text/plain");
}

Response& Response::with(std::string_view name, std::string_view value) & {
    if (detail::equalIgnoringCase(name, "Content-Type")) {
        headers.set(name, value);
    } else {
        headers.add(name, value);
    }
    return *this;
}

Response switchTo(std::string_view protocol) {
    Response response(Status::switchingProtocols);
    response.headers.add("Connection", "upgrade");
    response.headers.add("Upgrade", protocol);
    return response;
}

}  // namespace weft::http
