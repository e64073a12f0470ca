// An outside program that uses weft::tls alone: a client's first message.
#include <weft/tls.hpp>

int main() {
    weft::ChannelOutput wire;
    weft::SslEngine engine(weft::SslContext::client(), "localhost");
    engine.begin(wire);
    return !engine.failed() && wire.pendingBytes() > 100 ? 0 : 1;
}
