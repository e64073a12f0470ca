#include <weft/scheduler/sync/wait_group.hpp>

namespace weft::detail {

template class BasicWaitGroup<NativeSync>;

}  // namespace weft::detail
