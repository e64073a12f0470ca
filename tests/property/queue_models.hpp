// The models of sync::BoundedQueue, sync::UnboundedQueue and sync::Oneshot, of sync::Broadcast, and of sync::Watch.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "property/model.hpp"

namespace weft::property {

class QueueModel final : public ModelBase<QueueModel> {
  public:
    // `once`: the first value closes it.
    QueueModel(std::size_t capacity, bool once) noexcept : capacity_(capacity), once_(once) {}

    bool apply(Phase phase, const Call& call, int id) override {
        switch (call.verb) {
            case Verb::send: return phase == Phase::begin ? beginSend(call.argument, id) : endSend(call, id);
            case Verb::receive: return phase == Phase::begin ? beginReceive(id) : endReceive(call, id);
            case Verb::trySend: return trySend(call);
            case Verb::tryReceive: return call.outcome == Outcome::done ? pop() == call.value : values_.empty();
            case Verb::find: return values_.empty() && !closed_;
            case Verb::close:
                if (call.value != !closed_) return false;
                close();
                return true;
            case Verb::count:
                return call.value == static_cast<long>(values_.size()) && senders_.empty() && receivers_.empty();
            default: return false;
        }
    }
    bool mayEnd(const Call& call, int id) const override {
        return senders_.mayEnd(call, id) && receivers_.mayEnd(call, id);
    }
    std::vector<long> state() const override {
        std::vector<long> all{closed_};
        all.insert(all.end(), values_.begin(), values_.end());
        all.push_back(nothing);
        senders_.addTo(all);
        receivers_.addTo(all);
        return all;
    }

  private:
    static constexpr long sent = 0, refused = nothing;

    bool full() const noexcept { return values_.size() >= capacity_; }
    void put(long value) {
        if (receivers_.empty()) {
            values_.push_back(value);
        } else {
            receivers_.grantFirst(value);
        }
        if (once_) close();
    }
    // `nothing` without a value.
    long pop() {
        if (values_.empty()) return nothing;
        const long value = values_.front();
        values_.pop_front();
        if (!senders_.empty()) {
            values_.push_back(senders_.first().wants);
            senders_.grantFirst(sent);
        }
        return value;
    }
    void close() {
        closed_ = true;
        senders_.grantAll(refused);
        receivers_.grantAll(nothing);
    }
    bool beginSend(long value, int id) {
        if (closed_) {
            senders_.grant(id, refused);
        } else if (full()) {
            senders_.append(id, value);
        } else {
            put(value);
            senders_.grant(id, sent);
        }
        return true;
    }
    bool endSend(const Call& call, int id) {
        if (call.gaveUp()) return senders_.withdraw(id);
        return senders_.take(call, id);
    }
    bool beginReceive(int id) {
        if (!values_.empty()) {
            receivers_.grant(id, pop());
        } else if (closed_) {
            receivers_.grant(id, nothing);
        } else {
            receivers_.append(id);
        }
        return true;
    }
    bool endReceive(const Call& call, int id) {
        if (call.gaveUp()) return receivers_.withdraw(id);
        return receivers_.take(call, id);
    }
    bool trySend(const Call& call) {
        if (call.outcome == Outcome::closed) return closed_;
        if (call.outcome == Outcome::refused) return full() && !closed_;
        if (full() || closed_) return false;
        put(call.argument);
        return true;
    }

    const std::size_t capacity_;
    const bool once_;
    bool closed_ = false;
    std::deque<long> values_;
    Waiters senders_;
    Waiters receivers_;
};

// `argument` of a reader's calls: which reader.
class BroadcastModel final : public ModelBase<BroadcastModel> {
  public:
    explicit BroadcastModel(long capacity) noexcept : capacity_(capacity) {}

    bool apply(Phase, const Call& call, int) override {
        switch (call.verb) {
            case Verb::send: return send(call);
            case Verb::subscribe: readers_[call.argument] = end_; return true;
            case Verb::unsubscribe: return readers_.erase(call.argument) == 1;
            case Verb::receive: return receive(call);
            case Verb::tryReceive: return call.outcome == Outcome::refused ? readAll(call) : receive(call);
            case Verb::find: return readAll(call) && !closed_;
            case Verb::close:
                if (call.value != !closed_) return false;
                return closed_ = true;
            case Verb::count: return call.value == static_cast<long>(readers_.size());
            default: return false;
        }
    }
    std::vector<long> state() const override {
        std::vector<long> all{closed_, end_};
        all.insert(all.end(), kept_.begin(), kept_.end());
        for (const auto& [reader, next] : readers_) all.insert(all.end(), {reader, next});
        return all;
    }

  private:
    bool readAll(const Call& call) const { return readers_.at(call.argument) == end_; }
    bool send(const Call& call) {
        const long receivers = closed_ ? 0 : static_cast<long>(readers_.size());
        if (call.value != receivers) return false;
        if (receivers == 0) return true;
        ++end_;
        kept_.push_back(call.argument);
        if (static_cast<long>(kept_.size()) > capacity_) kept_.pop_front();
        return true;
    }
    bool receive(const Call& call) {
        if (call.gaveUp()) return readAll(call) && !closed_;
        if (call.outcome == Outcome::closed) return readAll(call) && closed_;
        if (readAll(call)) return false;
        long& next = readers_.at(call.argument);
        const long oldest = end_ - static_cast<long>(kept_.size());
        if (call.missed != std::max(oldest - next, 0L)) return false;
        next = std::max(next, oldest);
        return kept_.at(static_cast<std::size_t>(next++ - oldest)) == call.value;
    }

    const long capacity_;
    bool closed_ = false;
    long end_ = 0;                  // the number of values sent
    std::deque<long> kept_;         // the last of them
    std::map<long, long> readers_;  // the number of the value that each reads next
};

class WatchModel final : public ModelBase<WatchModel> {
  public:
    explicit WatchModel(long initial) noexcept : value_(initial) {}

    bool apply(Phase, const Call& call, int) override {
        switch (call.verb) {
            case Verb::send: return send(call);
            case Verb::subscribe: seen_[call.argument] = version_; return true;
            case Verb::unsubscribe: return seen_.erase(call.argument) == 1;
            case Verb::next: return next(call);
            case Verb::find: return hasSeen(call) && !closed_;
            case Verb::read: return call.value == value_;
            case Verb::close:
                if (call.value != !closed_) return false;
                return closed_ = true;
            default: return false;
        }
    }
    std::vector<long> state() const override {
        std::vector<long> all{closed_, version_, value_};
        for (const auto& [reader, version] : seen_) all.insert(all.end(), {reader, version});
        return all;
    }

  private:
    bool hasSeen(const Call& call) const { return seen_.at(call.argument) == version_; }
    bool send(const Call& call) {
        if (call.outcome == Outcome::closed) return closed_;
        if (closed_) return false;
        ++version_;
        value_ = call.argument;
        return true;
    }
    bool next(const Call& call) {
        if (call.gaveUp()) return hasSeen(call) && !closed_;
        if (call.outcome == Outcome::closed) return hasSeen(call) && closed_;
        if (hasSeen(call) || call.value != value_) return false;
        seen_.at(call.argument) = version_;
        return true;
    }

    bool closed_ = false;
    long version_ = 0;
    long value_;
    std::map<long, long> seen_;
};

}  // namespace weft::property
