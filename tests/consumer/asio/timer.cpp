// An Asio program of an outside project.
#include <weft/asio_io/context.hpp>

#include <chrono>
#include <iostream>

#include <boost/asio/steady_timer.hpp>

int main() {
    weft::asio_io::Context context;
    boost::asio::steady_timer timer(context, std::chrono::milliseconds(1));
    timer.async_wait([](boost::system::error_code) {});
    const std::size_t ran = context.run();
    std::cout << ran << " handler\n";
    return ran == 1 ? 0 : 1;
}
