// Linked into every test program that uses the pipeline: each test must return all buffers by its end.
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
