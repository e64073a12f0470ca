// A connection with callbacks, coroutines and fibers: uses each header of the room. Status 0 if every byte came back.
#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/impl/src.hpp>
#endif

#include <array>
#include <cstdio>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/fiber_strand.hpp>
#include <weft/asio_io/use_fiber.hpp>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace weft::asio_io;

constexpr std::string_view text = "hello";

asio::awaitable<void> serve(tcp::acceptor& acceptor) {
    tcp::socket peer = co_await acceptor.async_accept(asio::use_awaitable);
    std::array<char, text.size()> bytes;
    co_await asio::async_read(peer, asio::buffer(bytes), asio::use_awaitable);
    co_await asio::async_write(peer, asio::buffer(bytes), asio::use_awaitable);
}

std::string_view ask(Context& context, const tcp::endpoint& server, std::array<char, text.size()>& answer) {
    tcp::socket socket(context);
    socket.async_connect(server, use_fiber);
    asio::async_write(socket, asio::buffer(text), use_fiber);
    return {answer.data(), asio::async_read(socket, asio::buffer(answer), use_fiber)};
}

}  // namespace

int main() {
    Context context;
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    asio::co_spawn(context, serve(acceptor), asio::detached);
    std::array<char, text.size()> answer;
    bool same = false;
    asio::post(FiberStrand(context), [&] { same = ask(context, acceptor.local_endpoint(), answer) == text; });
    asio::steady_timer timer(asio::make_strand(context), std::chrono::milliseconds(1));
    int called = 0;
    timer.async_wait([&](boost::system::error_code error) { called += !error; });
    asio::post(FiberExecutor(context), [&] { ++called; });
    context.run();
    std::puts(same && called == 2 ? "all came back" : "something did not come back");
    return same && called == 2 ? 0 : 1;
}
