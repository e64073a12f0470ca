// Question: what does Boost.Asio's ssl::stream cost where the application does next to nothing?
// As plaintext/asio: requests are counted, answers are canned, and all answers to what one read brought leave in one
// write.

#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <memory>

#include "../../support/asio_server.hpp"
#include "../../support/request_counter.hpp"
#include "../../support/tls_server.hpp"

namespace weft::perf {
namespace {

namespace ssl = asio::ssl;

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(tcp::socket socket, ssl::context& context, const TlsAnswers& answers)
        : stream_(std::move(socket), context), answers_(answers) {}

    void begin() {
        stream_.async_handshake(ssl::stream_base::server, [self = shared_from_this()](error_code error) {
            if (!error) self->read();
        });
    }

  private:
    void read() {
        stream_.async_read_some(asio::buffer(input_), [self = shared_from_this()](error_code error, std::size_t count) {
            if (error) return;
            self->owed_ = self->requests_.count(self->input_, count) * self->answers_.answer().size();
            self->answer();
        });
    }

    void answer() {
        if (owed_ == 0) return read();
        const std::string_view next = answers_.owed(owed_);
        owed_ -= next.size();
        asio::async_write(stream_, asio::buffer(next), [self = shared_from_this()](error_code error, std::size_t) {
            if (!error) self->answer();
        });
    }

    ssl::stream<tcp::socket> stream_;
    const TlsAnswers& answers_;
    RequestCounter requests_;
    std::size_t owed_ = 0;  // bytes of answers
    char input_[16 * 1024];
};

void serve(const sockaddr_in& address, const TlsFlags& flags) {
    const TlsAnswers answers(flags.bodyBytes);
    const TlsIdentity identity = makeTlsIdentity(flags.rsa);
    ssl::context secure(ssl::context::tls_server);
    secure.use_certificate_chain(asio::buffer(identity.certificate));
    secure.use_private_key(asio::buffer(identity.key), ssl::context::pem);
    asio::io_context context(1);
    serveAsio(context, address,
              [&](tcp::socket socket) { std::make_shared<Connection>(std::move(socket), secure, answers)->begin(); });
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, std::string("--listen ADDR:PORT ") + TlsFlags::usage);
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const TlsFlags wanted(flags);
    flags.finish();
    serve(address, wanted);
    return 0;
}
