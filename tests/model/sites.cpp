#include "sites.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <map>

namespace weft::model {

namespace {

using Lines = std::vector<std::string>;

const Lines& linesOf(std::string_view file) {
    static std::map<std::string, Lines, std::less<>> files;
    if (const auto found = files.find(file); found != files.end()) return found->second;
    std::string path(file);
    while (path.starts_with("../")) path.erase(0, 3);  // a compiler cache makes it relative to the build directory
    if (!path.starts_with('/')) path = std::string(WEFT_SOURCE_DIR) + "/" + path;
    Lines lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return files.emplace(file, std::move(lines)).first->second;
}

// Appends each "[K1]" of a text, without the brackets.
void appendEdges(const std::string& text, std::vector<std::string>& edges) {
    for (std::size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
        const std::size_t close = text.find(']', open);
        if (close == text.npos || close - open < 3 || close - open > 4) continue;
        const std::string id = text.substr(open + 1, close - open - 1);
        const bool digits = std::all_of(id.begin() + 1, id.end(), [](unsigned char c) { return std::isdigit(c); });
        const bool known = std::find(edges.begin(), edges.end(), id) != edges.end();
        if (std::isupper(static_cast<unsigned char>(id[0])) && digits && !known) edges.push_back(id);
    }
}

bool endsStatement(const std::string& line) {
    const std::string code = line.substr(0, line.find("//"));
    return code.find(';') != code.npos || code.find('{') != code.npos;
}

// Whether another function, or a block that has ended, is above this line.
bool endsBlock(const std::string& line) {
    const bool blank = line.find_first_not_of(" \t\r") == line.npos;
    return blank || line.substr(0, line.find("//")).find('}') != line.npos;
}

}  // namespace

const char* nameOf(Operation operation) noexcept {
    static constexpr const char* names[] = {"load",     "store",     "exchange",  "fetch_add",        "fetch_sub",
                                            "fetch_or", "fetch_and", "fetch_xor", "compare_exchange", "fence"};
    return names[static_cast<unsigned>(operation)];
}

const char* nameOf(std::memory_order order) noexcept {
    switch (order) {
        case std::memory_order_relaxed: return "relaxed";
        case std::memory_order_consume: return "consume";
        case std::memory_order_acquire: return "acquire";
        case std::memory_order_release: return "release";
        case std::memory_order_acq_rel: return "acq_rel";
        case std::memory_order_seq_cst: return "seq_cst";
    }
    return "?";
}

std::string sourceLine(std::string_view file, unsigned line) {
    const Lines& lines = linesOf(file);
    if (line == 0 || line > lines.size()) return {};
    const std::string& text = lines[line - 1];
    const std::size_t first = text.find_first_not_of(" \t");
    return first == text.npos ? std::string() : text.substr(first);
}

bool Site::isAt(const std::source_location& other) const noexcept {
    if (where.line() != other.line() || where.column() != other.column()) return false;
    return where.file_name() == other.file_name() || std::strcmp(where.file_name(), other.file_name()) == 0;
}

std::string Site::function() const {
    const std::string_view full = where.function_name();
    const std::string_view head = full.substr(0, full.find('('));
    const std::size_t start = head.find_last_of(": <>*&");
    return std::string(start == head.npos ? head : head.substr(start + 1));
}

std::string Site::file() const {
    const std::string_view path = where.file_name();
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return std::string(name.substr(0, name.find('.')));
}

std::vector<std::string> Site::edges() const {
    std::vector<std::string> found;
    const Lines& lines = linesOf(where.file_name());
    if (where.line() == 0 || where.line() > lines.size()) return found;
    const std::size_t at = where.line() - 1;
    for (std::size_t i = at; i < std::min(lines.size(), at + 4); ++i) {
        appendEdges(lines[i], found);
        if (endsStatement(lines[i])) break;
    }
    for (std::size_t i = at; found.empty() && i > 0 && !endsBlock(lines[i - 1]); --i) appendEdges(lines[i - 1], found);
    return found;
}

void Sites::collect(bool on) {
    if (on) collected_.clear();
    collecting_ = on;
    active_ = collecting_ || !weakenings_.empty();
}

void Sites::weaken(std::vector<Weakening> weakenings) {
    weakenings_ = std::move(weakenings);
    active_ = collecting_ || !weakenings_.empty();
}

Orders Sites::visitActive(const std::source_location& where, Operation operation, Orders orders) {
    if (collecting_) note(where, operation, orders);
    for (const Weakening& weakening : weakenings_) {
        if (weakening.site.isAt(where)) (weakening.ofFailure ? orders.failure : orders.success) = weakening.to;
    }
    return orders;
}

void Sites::note(const std::source_location& where, Operation operation, Orders orders) {
    const auto known =
        std::find_if(collected_.begin(), collected_.end(), [&](const Site& site) { return site.isAt(where); });
    if (known == collected_.end()) collected_.push_back({where, operation, orders});
}

namespace {

bool readsOnly(Operation operation) {
    return operation == Operation::load;
}
bool writesOnly(Operation operation) {
    return operation == Operation::store;
}

// What an order guarantees, as a set: a weaker order has a proper subset.
unsigned strength(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed: return 0;
        case std::memory_order_consume:
        case std::memory_order_acquire: return 1;
        case std::memory_order_release: return 2;
        case std::memory_order_acq_rel: return 3;
        case std::memory_order_seq_cst: return 7;
    }
    return 0;
}

void appendWeaker(const Site& site, bool ofFailure, std::vector<Weakening>& list) {
    const std::memory_order from = ofFailure ? site.orders.failure : site.orders.success;
    const bool noRelease = ofFailure || readsOnly(site.operation);
    for (const auto to :
         {std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release, std::memory_order_acq_rel}) {
        const bool releasing = to == std::memory_order_release || to == std::memory_order_acq_rel;
        const bool acquiring = to == std::memory_order_acquire || to == std::memory_order_acq_rel;
        if ((noRelease && releasing) || (writesOnly(site.operation) && acquiring)) continue;
        if (strength(to) != strength(from) && (strength(to) & strength(from)) == strength(to)) {
            list.push_back({site, ofFailure, to});
        }
    }
}

}  // namespace

std::vector<Weakening> weakeningsOf(const Site& site) {
    std::vector<Weakening> list;
    appendWeaker(site, false, list);
    if (site.operation == Operation::compareExchange) appendWeaker(site, true, list);
    return list;
}

}  // namespace weft::model
