// Does not link with a library that was built without this program's macros: see CMakeLists.txt.
#include <weft/asio_io/context.hpp>

int main() {
    weft::asio_io::Context context;
    return context.run() == 0 ? 0 : 1;
}
