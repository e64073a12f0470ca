#include <weft/scheduler/sync/notify.hpp>

namespace weft::detail {

template class BasicNotify<NativeSync>;

}  // namespace weft::detail
