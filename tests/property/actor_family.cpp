// Actor::taskScope(), Actor::joinSet(): children, and what becomes of their results and exceptions.
#include <algorithm>
#include <mutex>
#include <vector>

#include <weft/scheduler/join_set.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "property/actor.hpp"

namespace weft::property {

// The children of one scope, and how they have ended.
struct Family {
    explicit Family(const Frame* outer) noexcept : frame{.outer = outer, .cancelled = &cancelled} {}

    Moment cancelled;
    Frame frame;
    std::mutex lock;  // guards the others
    std::vector<int> failed;
    std::vector<int> succeeded;
    std::vector<int> ended;  // all, in this order
    bool firstSuccessCancels = false;
    bool firstFailureCancels = false;
};

namespace {

// The actor whose failure ends the call, 0 without one.
int failureOf(const std::function<void()>& work, ErrorCode& error) {
    try {
        error = Actor::errorOf(work);
        return 0;
    } catch (const ChildFailure& failure) {
        return failure.actor;
    }
}

}  // namespace

int Actor::runChild(Family& family, Actor& child, const std::vector<Operation>& operations) {
    child.run(operations);
    child.leave();
    const bool fails = !operations.empty() && operations.back().fails;
    if (fails ? family.firstFailureCancels : family.firstSuccessCancels) family.cancelled.note(world_.stamp());
    {
        const std::lock_guard held(family.lock);
        (fails ? family.failed : family.succeeded).push_back(child.id());
        family.ended.push_back(child.id());
    }
    if (fails) throw ChildFailure{child.id()};
    return child.id();
}

void Actor::taskScope(const Operation& operation) {
    releaseMutexes();
    const auto policy = static_cast<TaskScope::Policy>(operation.choice % 4);
    Family family(frames_);
    family.firstFailureCancels = policy == TaskScope::Policy::allOrThrow;
    family.firstSuccessCancels = policy == TaskScope::Policy::firstSuccess;
    ErrorCode error;
    int failure = 0;
    {
        TaskScope scope(policy);
        for (std::size_t i = 0; i < operation.children.size(); ++i) {
            Actor& child = world_.makeActor(this, &family.frame, false);
            scope.spawnOn(world_.carrier(i),
                          [this, &family, &operation, &child, i] { runChild(family, child, operation.children[i]); });
        }
        ++families_;
        run(operation.body);
        --families_;
        releaseMutexes();
        if (operation.ticks == 1) {
            family.cancelled.note(world_.stamp());
            scope.cancel();
        }
        failure = failureOf([&] { scope.join(); }, error);
    }
    if (family.ended.size() != operation.children.size()) world_.fault("a TaskScope ended before its children");
    const bool throws = policy != TaskScope::Policy::collect && !family.failed.empty() &&
                        (policy != TaskScope::Policy::firstSuccess || family.succeeded.empty());
    const bool expected =
        !throws
            ? failure == 0
            : (world_.exact() ? failure == family.failed.front()
                              : std::find(family.failed.begin(), family.failed.end(), failure) != family.failed.end());
    if (!expected) world_.fault("TaskScope::join() threw the failure of actor " + std::to_string(failure));
    if (error) because(error == operationAborted() ? interruption() : std::nullopt, "TaskScope::join() was aborted");
}

void Actor::joinSet(const Operation& operation) {
    releaseMutexes();
    Family family(frames_);
    std::vector<int> taken;
    {
        JoinSet<int> set;
        for (std::size_t i = 0; i < operation.children.size(); ++i) {
            Actor& child = world_.makeActor(this, &family.frame, false);
            set.spawnOn(world_.carrier(i), [this, &family, &operation, &child, i] {
                return runChild(family, child, operation.children[i]);
            });
        }
        ++families_;
        run(operation.body);
        --families_;
        releaseMutexes();
        for (bool more = operation.choice != 0; more;) {
            ErrorCode error;
            const int failure = failureOf(
                [&] {
                    const auto result = set.joinNext();
                    more = result.has_value();
                    if (result) taken.push_back(*result);
                },
                error);
            if (failure != 0) taken.push_back(failure);
            if (error) {
                because(error == operationAborted() ? interruption() : std::nullopt, "JoinSet::joinNext() was aborted");
                more = false;
            } else if (!more && taken.size() != operation.children.size()) {
                world_.fault("a JoinSet lost a result");
            }
        }
        family.cancelled.note(world_.stamp());
        if (operation.ticks == 1) set.shutdown();
    }
    if (family.ended.size() != operation.children.size()) world_.fault("a JoinSet ended before its children");
    if (world_.exact() && !std::equal(taken.begin(), taken.end(), family.ended.begin(),
                                      family.ended.begin() + std::min(taken.size(), family.ended.size())))
        world_.fault("a JoinSet gave results in another order than that in which its children ended");
    std::sort(taken.begin(), taken.end());
    if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) world_.fault("a JoinSet gave a result twice");
}

}  // namespace weft::property
