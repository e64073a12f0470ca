#include "property/program.hpp"

#include <array>
#include <functional>
#include <sstream>

namespace weft::property {

namespace {

constexpr std::array kindNames{
    "Mutex and Condition", "FairMutex",      "RwLock",  "Semaphore", "Notify", "Barrier", "WaitGroup", "OnceCell",
    "BoundedQueue",        "UnboundedQueue", "Oneshot", "Broadcast", "Watch"};
static_assert(kindNames.size() == kinds);

using Operations = std::vector<Operation>;

// Visits the operations in the order in which they are printed. `visit` returns false to remove the operation.
void visitAll(Operations& operations, const std::function<bool(Operation&)>& visit) {
    for (std::size_t i = 0; i < operations.size();) {
        if (!visit(operations[i])) {
            operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        visitAll(operations[i].body, visit);
        for (Operations& child : operations[i].children) visitAll(child, visit);
        ++i;
    }
}
void visitAll(Program& program, const std::function<bool(Operation&)>& visit) {
    for (Operations& actor : program.actors) visitAll(actor, visit);
    visitAll(program.conductor, visit);
}

void print(std::ostream& out, const Operations& operations, const std::string& indent);

void printHead(std::ostream& out, const Operation& operation) {
    switch (operation.act) {
        case Act::use:
            out << "use object " << operation.object << ", choice " << operation.choice << ", amount "
                << operation.amount;
            break;
        case Act::select:
            out << "select from objects";
            for (const int object : operation.objects) out << ' ' << object;
            if (operation.choice == 0) out << ", not waiting";
            break;
        case Act::yield: out << "yield"; break;
        case Act::sleep: out << "sleep for " << operation.ticks; break;
        case Act::advance: out << "advance the clock by " << operation.ticks; break;
        case Act::cancelSource: out << "cancel source " << operation.choice; break;
        case Act::cancelFiber: out << "cancel fiber " << operation.choice; break;
        case Act::cancelScope: out << "CancelScope of source " << operation.choice; break;
        case Act::deadlineScope: out << "DeadlineScope of " << operation.ticks; break;
        case Act::shield: out << "CancellationShield"; break;
        case Act::taskScope: out << "TaskScope with policy " << operation.choice; break;
        case Act::joinSet: out << "JoinSet"; break;
    }
    if (operation.timed) out << ", at most for " << operation.ticks;
    if (operation.throws) out << ", throwing";
    if (operation.fails) out << ", then fail";
}

void print(std::ostream& out, const Operations& operations, const std::string& indent) {
    for (const Operation& operation : operations) {
        out << indent;
        printHead(out, operation);
        out << '\n';
        for (const Operations& child : operation.children) {
            out << indent << "  child:\n";
            print(out, child, indent + "    ");
        }
        print(out, operation.body, indent + "  ");
    }
}

}  // namespace

std::size_t sizeOf(const Program& program) {
    Program copy = program;
    std::size_t size = 0;
    visitAll(copy, [&](Operation&) {
        ++size;
        return true;
    });
    return size;
}

Program without(const Program& program, std::size_t number) {
    Program smaller = program;
    visitAll(smaller, [&](Operation&) { return number-- != 0; });
    return smaller;
}

std::string describe(const Program& program) {
    std::ostringstream out;
    out << "seed " << program.seed << '\n';
    for (std::size_t i = 0; i < program.objects.size(); ++i) {
        out << "object " << i << ": " << kindNames[static_cast<std::size_t>(program.objects[i].kind)] << ", amount "
            << program.objects[i].amount << '\n';
    }
    for (std::size_t i = 0; i < program.actors.size(); ++i) {
        out << (i + program.threads < program.actors.size() ? "fiber " : "thread ") << i << ":\n";
        print(out, program.actors[i], "  ");
    }
    out << "conductor:\n";
    print(out, program.conductor, "  ");
    return out.str();
}

}  // namespace weft::property
