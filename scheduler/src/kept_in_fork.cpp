#include <weft/scheduler/detail/kept_in_fork.hpp>

#include <mutex>
#include <utility>

namespace weft::detail {

void KeptInFork::keep(std::shared_ptr<KeptInFork> object) noexcept {
    static std::mutex lock;
    static KeptInFork* newest = nullptr;
    std::lock_guard held(lock);
    object->before_ = std::exchange(newest, object.get());
    newest->self_ = std::move(object);
}

}  // namespace weft::detail
