// LinkedQueue: a queue of objects that bring their links, and that may leave it from its middle.
#pragma once

namespace weft::detail {

// T has a member `link` of type LinkedQueue<T>::Link. An object is in one queue at most. Context: one thread at a time.
template <class T>
class LinkedQueue {
  public:
    struct Link {
        LinkedQueue* in = nullptr;  // null: in none
        T* previous = nullptr;
        T* next = nullptr;
    };

    LinkedQueue() = default;
    LinkedQueue(const LinkedQueue&) = delete;
    LinkedQueue& operator=(const LinkedQueue&) = delete;

    // Null: empty.
    T* first() const noexcept { return first_; }
    // Appends what is in no queue.
    void push(T& object) noexcept {
        object.link = {this, last_, nullptr};
        (last_ != nullptr ? last_->link.next : first_) = &object;
        last_ = &object;
    }
    // Appends it, from whatever queue it is in.
    void take(T& object) noexcept {
        remove(object);
        push(object);
    }
    static void remove(T& object) noexcept {
        const Link link = object.link;
        if (link.in == nullptr) return;
        (link.previous != nullptr ? link.previous->link.next : link.in->first_) = link.next;
        (link.next != nullptr ? link.next->link.previous : link.in->last_) = link.previous;
        object.link = {};
    }

  private:
    T* first_ = nullptr;
    T* last_ = nullptr;
};

}  // namespace weft::detail
