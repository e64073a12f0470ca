// Thing: one object of a world, which actors use by number. Its calls are recorded, and its model explains them.
#pragma once

#include <cstddef>
#include <memory>

#include <weft/scheduler/sync/select.hpp>

#include "property/model.hpp"
#include "property/program.hpp"

namespace weft::property {

class Actor;

// One branch of a select().
class Choice {
  public:
    virtual ~Choice() = default;
    virtual weft::detail::SelectBranch& branch() noexcept = 0;
    // The branch was chosen: puts its result into the call.
    virtual void take(Call& call) = 0;
};

// What one actor has of one object, such as a reader.
struct Local {
    virtual ~Local() = default;
};

class Thing {
  public:
    explicit Thing(int number) noexcept : number_(number) {}
    virtual ~Thing() = default;
    Thing(const Thing&) = delete;
    Thing& operator=(const Thing&) = delete;

    virtual std::unique_ptr<Model> model() const = 0;
    virtual void use(Actor& actor, const Operation& operation) = 0;
    // Null: it is nothing to select from.
    virtual std::unique_ptr<Choice> choice(Actor&, Call&) { return nullptr; }
    // The actor gives back what it holds.
    virtual void leave(Actor&) {}
    // A mutex, which is released where its owner waits for other fibers.
    virtual bool isMutex() const noexcept { return false; }
    // All actors have ended: shows its state.
    virtual void finish(Actor& actor) = 0;

    int number() const noexcept { return number_; }

  private:
    const int number_;
};

std::unique_ptr<Thing> makeThing(const Object& object, int number);

// Each makes some kinds, and returns null for others.
std::unique_ptr<Thing> makeLock(const Object& object, int number);
std::unique_ptr<Thing> makeMeeting(const Object& object, int number);
std::unique_ptr<Thing> makeQueue(const Object& object, int number);
std::unique_ptr<Thing> makeBroadcast(const Object& object, int number);

}  // namespace weft::property
