#include <weft/http/client_error.hpp>

namespace weft::http {

namespace {

// boost::system::error_category has a non-virtual destructor on purpose: nothing deletes a category through its base.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class ClientCategory final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "weft.http.client"; }
    std::string message(int value) const override {
        switch (static_cast<ClientFault>(value)) {
            case ClientFault::badResponse: return "not a valid HTTP/1 response";
            case ClientFault::headTooLarge: return "response head too large";
            case ClientFault::bodyTooLarge: return "response body too large";
            case ClientFault::endedEarly: return "response ended early";
            case ClientFault::badStatus: return "response status is not 2xx";
        }
        return "unknown error";
    }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& clientCategory() noexcept {
    static const ClientCategory category;
    return category;
}

}  // namespace weft::http
