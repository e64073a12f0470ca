#include <weft/http/response.hpp>

#include <string>

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

Response switchTo(std::string_view protocol) {
    Response response(Status::switchingProtocols);
    response.headers.add("Connection", "upgrade");
    response.headers.add("Upgrade", protocol);
    return response;
}

}  // namespace weft::http
