// makeProgram(): a random program from a seed.
#include <iterator>
#include <utility>

#include "property/program.hpp"

namespace weft::property {

namespace {

using Operations = std::vector<Operation>;

class Generator {
  public:
    Generator(std::uint32_t seed, unsigned threads) : state_(seed * 2654435761u + 1) {
        program_.seed = seed;
        program_.threads = threads;
    }

    Program run() {
        const unsigned objects = oneIn(2) ? 1 : between(2, 3);
        for (unsigned i = 0; i < objects; ++i) program_.objects.push_back(object());
        const unsigned fibers = between(2, 5);
        for (unsigned i = 0; i < fibers + program_.threads; ++i) {
            inThread_ = i >= fibers;
            program_.actors.push_back(operations(between(2, 9), 0));
        }
        for (unsigned i = between(0, 6); i > 0; --i) program_.conductor.push_back(conducted());
        return std::move(program_);
    }

  private:
    // SplitMix64, which is the same on every machine.
    std::uint32_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return static_cast<std::uint32_t>(mixed >> 33);
    }
    unsigned between(unsigned least, unsigned most) noexcept { return least + next() % (most - least + 1); }
    bool oneIn(unsigned count) noexcept { return next() % count == 0; }

    Object object() {
        Object made{static_cast<Kind>(next() % kinds), between(1, 3)};
        if (made.kind == Kind::barrier) made.amount = between(2, 3);
        return made;
    }

    Operations operations(unsigned count, unsigned depth) {
        Operations all;
        while (count-- > 0) all.push_back(operation(depth));
        return all;
    }

    Operation operation(unsigned depth) {
        const unsigned die = between(0, 99);
        if (die < 58) return use();
        if (die < 65) return select();
        if (die < 71) return simple(Act::yield);
        if (die < 76) return simple(inThread_ ? Act::yield : Act::sleep);
        if (die < 80) return simple(Act::advance);
        if (die < 83) return simple(Act::cancelSource);
        if (die < 87) return simple(Act::cancelFiber);
        if (depth >= 2) return use();
        if (die < 90 || inThread_) return block(Act::cancelScope, depth);
        if (die < 93) return block(Act::deadlineScope, depth);
        if (die < 95) return shield();
        return family(die < 98 ? Act::taskScope : Act::joinSet, depth);
    }
    Operation simple(Act act) {
        Operation made{.act = act};
        made.ticks = between(1, 3);
        made.choice = between(0, act == Act::cancelFiber ? 4 : 1);
        return made;
    }
    Operation use() {
        Operation made{.act = Act::use, .object = static_cast<int>(next() % program_.objects.size())};
        made.choice = between(0, 11);
        made.amount = between(1, 2);
        made.timed = shielded_ || oneIn(3);
        made.throws = oneIn(2);
        made.ticks = between(0, 3);
        return made;
    }
    Operation select() {
        Operation made{.act = Act::select};
        made.choice = between(0, 3);
        made.timed = shielded_ || oneIn(3);
        made.ticks = between(0, 3);
        for (int i = 0; i < static_cast<int>(program_.objects.size()); ++i) {
            if (oneIn(2)) made.objects.push_back(i);
        }
        return made;
    }
    Operation block(Act act, unsigned depth) {
        Operation made = simple(act);
        made.body = operations(between(1, 3), depth + 1);
        return made;
    }
    // Only deadlines end the waits in it.
    Operation shield() {
        Operation made{.act = Act::shield};
        const bool outer = std::exchange(shielded_, true);
        for (unsigned i = between(1, 2); i > 0; --i) made.body.push_back(oneIn(4) ? select() : use());
        shielded_ = outer;
        return made;
    }
    Operation family(Act act, unsigned depth) {
        Operation made = block(act, depth);
        made.choice = between(0, 3);
        for (unsigned i = between(1, 3); i > 0; --i) {
            made.children.push_back(operations(between(1, 3), depth + 1));
            if (oneIn(6)) made.children.back().back().fails = true;
        }
        return made;
    }
    Operation conducted() {
        static constexpr Act acts[] = {Act::yield, Act::sleep,        Act::sleep,
                                       Act::sleep, Act::cancelSource, Act::cancelFiber};
        return simple(acts[next() % std::size(acts)]);
    }

    Program program_;
    std::uint64_t state_;
    bool inThread_ = false;
    bool shielded_ = false;
};

}  // namespace

Program makeProgram(std::uint32_t seed, unsigned threads) {
    return Generator(seed, threads).run();
}

}  // namespace weft::property
