// Linked into every test program that uses the pipeline: buffers come back by the end of each test.
#include <weft/pipeline/buffer_pool.hpp>

#include <weft/testing/leak_guard.hpp>

namespace weft::test {
namespace {

bool watchThePipeline() {
    LeakGuard::watch("buffer blocks", [] { return BufferPool::liveBlocks(); });
    return true;
}

[[maybe_unused]] const bool watched = watchThePipeline();

}  // namespace
}  // namespace weft::test
