// Question: what does Asio itself charge for an executor that is not an io_context's? A boost::asio::thread_pool of one
// thread runs the same scheduler and reactor; only the executor differs.
#include <boost/asio/thread_pool.hpp>

#include "../../support/asio_echo.hpp"

namespace {

struct Pool : boost::asio::thread_pool {
    using thread_pool::thread_pool;
    void run() { join(); }
};

}  // namespace

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::EchoConnection<>, Pool>(argc, argv);
}
