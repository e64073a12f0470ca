// The scenarios that explore the biased count (docs/explanation/protocol.md section 12), for the shipped one and for
// its twins: the references of a channel and its pins, used as channel_lifecycle.cpp uses them. The owner is the
// channel's loop.
#pragma once

#include <weft/scheduler/detail/biased_count.hpp>

#include <array>
#include <functional>

#include "protocol_test.hpp"

namespace weft::model::biased {

using Shipped = detail::BasicBiasedCount<Atomics>;

// The threads' identities; a thread that is no loop has none.
inline const void* const owner = reinterpret_cast<const void*>(1);
inline const void* const other = nullptr;

// Hands something over to another thread.
class Box {
  public:
    void put() { full_.store(1, std::memory_order_release); }
    void take() {
        await([this] { return full_.load(std::memory_order_acquire) == 1; });
    }

  private:
    Atomic<int> full_{0};
};

// A channel; its last release ends it.
template <class Count>
class Object {
  public:
    Object(std::uint64_t references, int& ends) : count(references), ends_(ends) {}

    // `leave` is called before the end, as Channel::destroy() calls DeregisteredChannels::remove().
    std::function<void()> leave = [] {};

    void use(std::size_t who) { uses_[who] = 1; }
    void dropReference(const void* me) {
        if (count.release(me)) end();
    }
    void unbias() {
        if (count.unbias()) end();
    }

    Count count;

  private:
    void end() {
        leave();
        ++ends_;
        destroy(*this);
    }

    int& ends_;
    std::array<Plain<int>, 3> uses_;
};

// A channel's pins, and one removed handler.
template <class Count>
class Pipeline {
  public:
    struct Handler {
        Plain<int> use{0};
    };

    explicit Pipeline(Handler& handler) : pins(0, owner), handler_(handler) {}

    void use() { handler_.use = 1; }
    // Channel::unpin(), on the loop and elsewhere.
    void unpinHere() {
        if (pins.release(owner) && removed) freeRemoved();
    }
    void unpinRemotely() {
        if (pins.release(other)) posted.put();
    }
    // Channel::freeRemovedHandlers()
    void freeRemoved() {
        if (!pins.none() && !(pins.biased() && pins.unbias())) return;
        removed = false;
        destroy(handler_);
        if (!pins.biased()) pins.bias(owner);
    }

    Count pins;
    Box posted;
    bool removed = false;

  private:
    Handler& handler_;
};

// A list that holds no references: DeregisteredChannels. The lock also guards the end of what it lists.
template <class Count>
class WeakList {
  public:
    explicit WeakList(Object<Count>& object) : object_(object) {}

    bool take() {
        lock_.lock();
        const bool taken = listed_ && object_.count.retainUnlessZero();
        if (taken) listed_ = false;
        lock_.unlock();
        return taken;
    }
    void remove() {
        lock_.lock();
        listed_ = false;
        lock_.unlock();
    }

  private:
    Object<Count>& object_;
    Mutex lock_;
    Plain<bool> listed_{true};
};

template <class Count>
struct Scenarios {
    // The loop ends its part while another thread releases its reference.
    static void closes(ModelRun& run) {
        auto& object = make(run, 2);
        run.thread("owner", [&object] {
            object.count.bias(owner);
            object.count.retain(owner);
            object.use(0);
            object.dropReference(owner);
            object.dropReference(owner);
            object.unbias();
        });
        run.thread("other", [&object] {
            object.use(1);
            object.dropReference(other);
        });
    }
    static void twoOthers(ModelRun& run) {
        auto& object = make(run, 3);
        run.thread("owner", [&object] {
            object.count.bias(owner);
            object.use(0);
            object.dropReference(owner);
            object.unbias();
        });
        for (const std::size_t who : {1, 2}) {
            run.thread(who == 1 ? "other1" : "other2", [&object, who] {
                object.use(who);
                object.dropReference(other);
            });
        }
    }
    // Another thread takes a second reference from the one that it holds.
    static void retainsRemotely(ModelRun& run) {
        auto& object = make(run, 2);
        run.thread("owner", [&object] {
            object.count.bias(owner);
            object.dropReference(owner);
            object.unbias();
        });
        run.thread("other", [&object] {
            object.count.retain(other);
            object.dropReference(other);
            object.use(1);
            object.dropReference(other);
        });
    }
    // The loop takes a reference and another thread releases it.
    static void givesAway(ModelRun& run) {
        auto& object = make(run, 1);
        auto& box = run.make<Box>();
        run.thread("owner", [&object, &box] {
            object.count.bias(owner);
            object.count.retain(owner);
            box.put();
            object.use(0);
            object.dropReference(owner);
            object.unbias();
        });
        run.thread("other", [&object, &box] {
            box.take();
            object.use(1);
            object.dropReference(other);
        });
    }
    // As before, but the loop still holds a reference when its part ends: the shared part alone would be zero.
    static void holdsOn(ModelRun& run) {
        auto& object = make(run, 1);
        auto& box = run.make<Box>();
        run.thread("owner", [&object, &box] {
            object.count.bias(owner);
            object.count.retain(owner);
            box.put();
            object.unbias();
            object.use(0);
            object.dropReference(owner);
        });
        run.thread("other", [&object, &box] {
            box.take();
            object.use(1);
            object.dropReference(other);
        });
    }
    // The reverse: the loop releases a reference that another thread took, so the loop's part is negative.
    static void takesOver(ModelRun& run) {
        auto& object = make(run, 2);
        auto& box = run.make<Box>();
        run.thread("owner", [&object, &box] {
            object.count.bias(owner);
            object.dropReference(owner);
            box.take();
            object.use(0);
            object.dropReference(owner);
            object.unbias();
        });
        run.thread("other", [&object, &box] {
            object.count.retain(other);
            box.put();
            object.use(1);
            object.dropReference(other);
        });
    }
    // One thread gets a reference from the loop, another one gives the loop a reference.
    static void exchanges(ModelRun& run) {
        auto& object = make(run, 2);
        auto& given = run.make<Box>();
        auto& taken = run.make<Box>();
        run.thread("owner", [&object, &given, &taken] {
            object.count.bias(owner);
            object.count.retain(owner);
            given.put();
            object.dropReference(owner);
            taken.take();
            object.use(0);
            object.dropReference(owner);
            object.unbias();
        });
        run.thread("gets", [&object, &given] {
            given.take();
            object.use(1);
            object.dropReference(other);
        });
        run.thread("gives", [&object, &taken] {
            object.count.retain(other);
            taken.put();
            object.use(2);
            object.dropReference(other);
        });
    }
    // The builder's reference, and that of the task that brings the channel to its loop.
    static void registers(ModelRun& run) {
        auto& object = make(run, 1);
        auto& box = run.make<Box>();
        run.thread("builder", [&object, &box] {
            object.count.retain(other);
            box.put();
            object.use(1);
            object.dropReference(other);
        });
        run.thread("owner", [&object, &box] {
            box.take();
            object.count.bias(owner);
            object.use(0);
            object.dropReference(owner);
            object.unbias();
        });
    }
    // The channel is deregistered and registered again.
    static void again(ModelRun& run) {
        auto& object = make(run, 2);
        run.thread("owner", [&object] {
            object.count.bias(owner);
            object.count.retain(owner);
            object.unbias();
            object.dropReference(owner);
            object.count.bias(owner);
            object.use(0);
            object.dropReference(owner);
            object.unbias();
        });
        run.thread("other", [&object] {
            object.use(1);
            object.dropReference(other);
        });
    }
    // The loop ends and takes a channel that was deregistered from it, while the others release the last references.
    static void takesWeakly(ModelRun& run) { takesFromList(run, true); }
    static void takesWeaklyFromOneThatEndsWithoutTheLock(ModelRun& run) { takesFromList(run, false); }

    // A handler is removed while the loop and another thread run in it; the last of them causes it to be freed.
    static void pins(ModelRun& run) {
        using Pipeline = biased::Pipeline<Count>;
        auto& handler = run.make<typename Pipeline::Handler>();
        auto& pipeline = run.make<Pipeline>(handler);
        auto& box = run.make<Box>();
        run.name({"owner", "shared"});
        run.thread("owner", [&pipeline, &box] {
            pipeline.pins.retain(owner);
            box.put();
            pipeline.pins.retain(owner);
            pipeline.removed = true;
            pipeline.freeRemoved();
            assertThat(pipeline.removed, "one pin is left");
            pipeline.unpinHere();
            if (!pipeline.removed) return;
            pipeline.posted.take();
            pipeline.freeRemoved();
            assertThat(!pipeline.removed, "none is left");
            assertThat(pipeline.pins.biased() && pipeline.pins.none(), "as before");
        });
        run.thread("other", [&pipeline, &box] {
            box.take();
            pipeline.use();
            pipeline.unpinRemotely();
        });
    }
    // The handler is removed when the last pin may already be gone.
    static void unpins(ModelRun& run) {
        using Pipeline = biased::Pipeline<Count>;
        auto& handler = run.make<typename Pipeline::Handler>();
        auto& pipeline = run.make<Pipeline>(handler);
        auto& box = run.make<Box>();
        run.name({"owner", "shared"});
        run.thread("owner", [&pipeline, &box] {
            pipeline.pins.retain(owner);
            box.put();
            pipeline.removed = true;
            pipeline.freeRemoved();
            if (!pipeline.removed) return;
            pipeline.posted.take();
            pipeline.freeRemoved();
            assertThat(!pipeline.removed, "none is left");
        });
        run.thread("other", [&pipeline, &box] {
            box.take();
            pipeline.use();
            pipeline.unpinRemotely();
        });
    }

  private:
    static void takesFromList(ModelRun& run, bool leaves) {
        auto& object = make(run, 2);
        auto& list = run.make<WeakList<Count>>(object);
        if (leaves) object.leave = [&list] { list.remove(); };
        run.thread("owner", [&object, &list] {
            if (!list.take()) return;
            object.use(0);
            object.dropReference(owner);
        });
        for (const std::size_t who : {1, 2}) {
            run.thread(who == 1 ? "other1" : "other2", [&object, who] {
                object.use(who);
                object.dropReference(other);
            });
        }
    }
    static Object<Count>& make(ModelRun& run, std::uint64_t references) {
        auto& ends = run.make<int>(0);
        run.finally([&ends] { assertThat(ends == 1, "it ends once"); });
        auto& object = run.make<Object<Count>>(references, ends);
        run.name({"owner", "shared"});
        return object;
    }
};

template <class Count = Shipped>
std::vector<Case> cases() {
    using Built = Scenarios<Count>;
    return {makeCase("closes", Built::closes),
            makeCase("two others", Built::twoOthers),
            makeCase("retains elsewhere", Built::retainsRemotely),
            makeCase("gives away", Built::givesAway),
            makeCase("holds on", Built::holdsOn),
            makeCase("takes over", Built::takesOver),
            makeCase("exchanges", Built::exchanges),
            makeCase("registers", Built::registers),
            makeCase("again", Built::again),
            makeCase("takes weakly", Built::takesWeakly),
            makeCase("pins", Built::pins),
            makeCase("unpins", Built::unpins)};
}

}  // namespace weft::model::biased
