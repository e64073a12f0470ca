// Atomics: the policy that replaces detail::NativeAtomics in the shipped protocol headers; and Plain: data that is not
// atomic, whose races are reported. Context: a scenario and its threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <type_traits>

#include "execution.hpp"

namespace weft::model {

template <class T>
Value encode(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Value));
    Value bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
T decode(Value bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

std::string describeValue(Value bits);

// The interface of std::atomic, without defaulted orders. Every operation knows its source location.
template <class T>
class Atomic {
    using Where = std::source_location;
    using Order = std::memory_order;

  public:
    Atomic() : Atomic(T{}) {}
    Atomic(T initial) : location_(Execution::current().addLocation(encode(initial))) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    ~Atomic() {
        if (Execution::current().isLive()) Execution::current().retireLocation(location_);
    }

    T load(Order order, Where where = Where::current()) const {
        Execution& run = Execution::current();
        order = begin(run, Operation::load, {order}, where).success;
        const Value value = run.memory().load(run.self(), location_, order);
        if (run.tracing()) {
            note(run, Operation::load, nameOf(order),
                 describeValue(value) + (run.memory().readTheNewest() ? "" : " (overwritten)"), where);
        }
        return decode<T>(value);
    }

    void store(T value, Order order, Where where = Where::current()) {
        Execution& run = Execution::current();
        order = begin(run, Operation::store, {order}, where).success;
        run.memory().store(run.self(), location_, encode(value), order);
        if (run.tracing()) note(run, Operation::store, nameOf(order), "= " + describeValue(encode(value)), where);
    }

    T exchange(T value, Order order, Where where = Where::current()) {
        return update(Operation::exchange, order, where, [&](T) { return value; });
    }
    T fetch_add(T operand, Order order, Where where = Where::current()) {
        return update(Operation::fetchAdd, order, where, [&](T old) { return static_cast<T>(old + operand); });
    }
    T fetch_sub(T operand, Order order, Where where = Where::current()) {
        return update(Operation::fetchSub, order, where, [&](T old) { return static_cast<T>(old - operand); });
    }
    T fetch_or(T operand, Order order, Where where = Where::current()) {
        return update(Operation::fetchOr, order, where, [&](T old) { return static_cast<T>(old | operand); });
    }
    T fetch_and(T operand, Order order, Where where = Where::current()) {
        return update(Operation::fetchAnd, order, where, [&](T old) { return static_cast<T>(old & operand); });
    }
    T fetch_xor(T operand, Order order, Where where = Where::current()) {
        return update(Operation::fetchXor, order, where, [&](T old) { return static_cast<T>(old ^ operand); });
    }

    bool compare_exchange_strong(T& expected, T desired, Order success, Order failure, Where where = Where::current()) {
        return compareExchange(expected, desired, {success, failure}, false, where);
    }
    bool compare_exchange_weak(T& expected, T desired, Order success, Order failure, Where where = Where::current()) {
        return compareExchange(expected, desired, {success, failure}, true, where);
    }

    unsigned location() const noexcept { return location_; }

  private:
    Orders begin(Execution& run, Operation operation, Orders orders, const Where& where) const {
        orders = run.sites().visit(where, operation, orders);
        Footprint footprint;
        footprint.resource = static_cast<std::uint8_t>(location_);
        footprint.writes = operation != Operation::load;
        footprint.sequential = sequential(orders.success) || sequential(orders.failure);
        run.step(footprint);
        run.checkAlive(location_);
        return orders;
    }

    template <class Next>
    T update(Operation operation, Order order, const Where& where, Next next) {
        Execution& run = Execution::current();
        order = begin(run, operation, {order}, where).success;
        const Value before = run.memory().beginUpdate(run.self(), location_, order);
        const Value after = encode<T>(next(decode<T>(before)));
        run.memory().endUpdate(run.self(), location_, after, order);
        if (run.tracing()) {
            note(run, operation, nameOf(order), describeValue(before) + " -> " + describeValue(after), where);
        }
        return decode<T>(before);
    }

    bool compareExchange(T& expected, T desired, Orders orders, bool weak, const Where& where) {
        Execution& run = Execution::current();
        orders = begin(run, Operation::compareExchange, orders, where);
        const Value wanted = encode(expected);
        Value seen = wanted;
        const bool done = run.memory().compareExchange(run.self(), location_, seen, encode(desired), orders.success,
                                                       orders.failure, weak);
        if (!done) expected = decode<T>(seen);
        if (run.tracing()) {
            note(run, Operation::compareExchange, nameOf(done ? orders.success : orders.failure),
                 done ? describeValue(wanted) + " -> " + describeValue(encode(desired))
                      : (seen == wanted ? "fails spuriously" : "fails: " + describeValue(seen)),
                 where);
        }
        return done;
    }

    void note(Execution& run, Operation operation, const char* order, std::string detail, const Where& where) const {
        run.note(nameOf(operation), location_, order, std::move(detail), where);
    }

    const unsigned location_;
};

inline void fence(std::memory_order order, std::source_location where = std::source_location::current()) {
    Execution& run = Execution::current();
    order = run.sites().visit(where, Operation::fence, {order}).success;
    Footprint footprint;
    footprint.resource = Footprint::nothing;
    footprint.sequential = footprint.isFence = sequential(order);
    run.step(footprint);
    run.memory().fence(run.self(), order);
    if (run.tracing()) run.note("fence", maxLocations, nameOf(order), {}, where);
}

// Records which threads accessed something that is not atomic, and when. Detects two accesses that are not ordered by
// happens-before and of which one is a write.
class AccessLog {
  public:
    explicit AccessLog(bool initialised) noexcept : initialised_(initialised) { writtenBy(Execution::current()); }
    ~AccessLog() {
        if (Execution::current().isLive()) end();
        dead_ = true;
    }
    void read(const char* what) const;
    void write(const char* what);

  private:
    void end();
    void writtenBy(Execution& run) noexcept;
    void checkAgainstWriter(Execution& run, const char* what, const char* how) const;
    void checkAgainstReaders(Execution& run, const char* what) const;

    mutable std::array<Time, maxThreads> readAt_{};
    Time wroteAt_ = 0;
    std::uint8_t writer_ = 0;
    bool initialised_;
    bool dead_ = false;
};

// Data that is not atomic.
template <class T>
class Plain {
  public:
    Plain() : log_(false) {}
    Plain(T value) : log_(true), value_(value) {}
    Plain(const Plain& other) : log_(true), value_(other.get()) {}
    Plain& operator=(const Plain& other) { return *this = other.get(); }
    Plain& operator=(T value) {
        log_.write("plain data");
        value_ = value;
        return *this;
    }
    operator T() const { return get(); }
    T get() const {
        log_.read("plain data");
        return value_;
    }
    T operator->() const requires std::is_pointer_v<T> { return get(); }

  private:
    AccessLog log_;
    T value_{};
};

// A plain link of an intrusive list: `Node* next`, as the protocol headers need it. They also hand out references to
// it. To catch writes through such a reference, every access counts as a write: two threads must not even read it
// concurrently, which the protocols never do.
template <class T>
class Link {
  public:
    Link() : log_(true) {}
    Link& operator=(T* value) {
        log_.write("a link");
        value_ = value;
        return *this;
    }
    operator T*&() {
        log_.write("a link");
        return value_;
    }

  private:
    AccessLog log_;
    T* value_ = nullptr;
};

class Mutex;  // blocking.hpp

// The policy.
struct Atomics {
    template <class T>
    using Atomic = model::Atomic<T>;
    template <class T>
    using Plain = model::Plain<T>;
    using Mutex = model::Mutex;
};

}  // namespace weft::model
