// ReadyList: an intrusive FIFO of handles that have pending work. A handle is in at most one list.
#pragma once

namespace weft::detail {

struct ReadyLink {
    ReadyLink* previous = nullptr;
    ReadyLink* next = nullptr;

    bool linked() const noexcept { return next != nullptr; }
    void unlink() noexcept {
        if (!linked()) return;
        previous->next = next;
        next->previous = previous;
        previous = next = nullptr;
    }
};

// Circular, so that a link can leave without knowing its list. Context: the carrier's thread.
class ReadyList {
  public:
    ReadyList() noexcept { reset(); }
    ReadyList(const ReadyList&) = delete;
    ReadyList& operator=(const ReadyList&) = delete;

    bool empty() const noexcept { return head_.next == &head_; }
    void append(ReadyLink& link) noexcept {
        link.previous = head_.previous;
        link.next = &head_;
        head_.previous->next = &link;
        head_.previous = &link;
    }
    ReadyLink* popFirst() noexcept {
        if (empty()) return nullptr;
        ReadyLink* first = head_.next;
        first->unlink();
        return first;
    }
    // Moves everything from `other` into this list, which must be empty.
    void takeAll(ReadyList& other) noexcept {
        if (other.empty()) return;
        head_ = other.head_;
        head_.next->previous = &head_;
        head_.previous->next = &head_;
        other.reset();
    }

    // `visit` must not change the list.
    template <class Visit>
    void forEach(Visit visit) {
        for (ReadyLink* link = head_.next; link != &head_; link = link->next) visit(*link);
    }

  private:
    void reset() noexcept { head_.previous = head_.next = &head_; }

    ReadyLink head_;
};

}  // namespace weft::detail
