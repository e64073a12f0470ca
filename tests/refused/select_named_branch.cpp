// says: a branch is for one select(): make it in the call, as in select(onReceive(queue, function))
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/select.hpp>

void receive(weft::sync::BoundedQueue<int>& queue) {
#ifdef REFUSED
    auto branch = weft::sync::onReceive(queue, [](std::optional<int>) {});
    weft::sync::select(branch);
#else
    weft::sync::select(weft::sync::onReceive(queue, [](std::optional<int>) {}));
#endif
}
