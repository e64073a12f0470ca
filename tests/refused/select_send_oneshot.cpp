// says: onSend() is for a BoundedQueue: no other send() waits, so call send()
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/oneshot.hpp>
#include <weft/scheduler/sync/select.hpp>

void send(weft::sync::Oneshot<int>& cell, weft::sync::BoundedQueue<int>& queue, int value) {
#ifdef REFUSED
    weft::sync::select(weft::sync::onSend(cell, value, [](bool) {}));
#else
    cell.send(value);
    weft::sync::select(weft::sync::onSend(queue, value, [](bool) {}));
#endif
}
