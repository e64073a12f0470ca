// OutputFile: how long the reader of a pipe can hold up its writer.
#include "output_file.hpp"

#include <atomic>
#include <cerrno>
#include <ostream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "framework/named_pipe.hpp"

namespace weft::test {
namespace {

TEST(OutputFileTest, OnceItsOwnerEndsAReaderThatIsSlowCanHoldItUpForASecondInAll) {
    NamedPipe pipe;
    const int reader = pipe.openReader();
    const std::atomic<bool> ends{true};
    std::atomic<bool> failed{false};
    detail::OutputFile file(pipe.path(), ends);
    std::thread slow([&] {
        char bytes[NamedPipe::smallest];
        while (!failed) static_cast<void>(::read(reader, bytes, sizeof bytes));
    });
    std::ostream out(&file);
    const std::string piece(4 * std::size_t{NamedPipe::smallest}, 'x');
    while (out << piece) continue;
    failed = true;
    slow.join();
    EXPECT_EQ(file.error(), ETIMEDOUT);
}

}  // namespace
}  // namespace weft::test
