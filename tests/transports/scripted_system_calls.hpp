// ScriptedSystemCalls: a kernel that the test scripts, one step per call; it records the calls.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <weft/transports/system_calls.hpp>

namespace weft::test {

// The result of one recv: bytes (with `fill`, as many as the caller has room for), or an errno.
struct RecvStep {
    std::string bytes;
    int error = 0;
    bool fill = false;
};

inline RecvStep data(std::string bytes) {
    return {std::move(bytes), 0, false};
}
inline RecvStep fullBuffer() {
    return {{}, 0, true};
}
inline RecvStep endOfInput() {
    return {};
}
inline RecvStep failsWith(int error) {
    return {{}, error, false};
}

// Without a script: recv and accept4 return EAGAIN, sends accept everything, epoll reports nothing, all else succeeds.
// Invented descriptors start at 1000, so that a stray close() hits no real one.
class ScriptedSystemCalls final : public SystemCallHook {
  public:
    operator SystemCalls&() noexcept { return calls_; }

    // ---- the script ----
    void nextRecv(int fd, std::initializer_list<RecvStep> steps) { recvs_[fd].insert(recvs_[fd].end(), steps); }
    // Bytes accepted, or -errno.
    void nextSend(int fd, std::initializer_list<ssize_t> results) { sends_[fd].insert(sends_[fd].end(), results); }
    // New descriptors, or -errno.
    void nextAccept(std::initializer_list<int> results) { accepts_.insert(accepts_.end(), results); }
    void nextConnect(int result) { connects_.push_back(result); }
    // What one epoll wait reports: descriptors with event bits. Registrations are looked up at that time.
    void nextEvents(std::vector<std::pair<int, std::uint32_t>> events) { events_.push_back(std::move(events)); }
    void socketError(int fd, int error) { socketErrors_[fd] = error; }
    void withoutPwait2() { pwait2Result_ = -ENOSYS; }
    void nextEpollCtl(int result) { epollCtls_.push_back(result); }
    void nextEpollCreate(int result) { epollCreates_.push_back(result); }
    void nextWaitFails(int error) { waitErrors_.push_back(-error); }
    int invent() noexcept { return nextFd_++; }

    // ---- what happened ----
    std::string sent(int fd) const { return at(sent_, fd, std::string()); }
    int count(const std::string& call) const { return at(counts_, call, 0); }
    int recvs(int fd) const { return at(recvCounts_, fd, 0); }
    int sends(int fd) const { return at(sendCounts_, fd, 0); }
    bool closed(int fd) const { return std::find(closed_.begin(), closed_.end(), fd) != closed_.end(); }
    std::size_t lastAskedBytes() const { return lastAsked_; }
    const std::vector<int>& waits() const { return waits_; }  // milliseconds; -1: no limit, pwait2 rounded down
    std::uint32_t interestOf(int fd) const { return at(registered_, fd, epoll_event{}).events; }
    std::size_t leftOver() const { return events_.size(); }

    // ---- SystemCalls ----
    int socket(int, int, int) noexcept override { return note("socket"), invent(); }
    int bind(int, const sockaddr*, socklen_t) noexcept override { return note("bind"), 0; }
    int listen(int, int) noexcept override { return note("listen"), 0; }
    int accept4(int, sockaddr*, socklen_t*, int) noexcept override {
        note("accept4");
        return pop(accepts_, -EAGAIN);
    }
    int connect(int, const sockaddr*, socklen_t) noexcept override {
        note("connect");
        return pop(connects_, -EINPROGRESS);
    }
    ssize_t recv(int fd, void* into, std::size_t size) noexcept override {
        note("recv");
        ++recvCounts_[fd];
        lastAsked_ = size;
        auto& steps = recvs_[fd];
        if (steps.empty()) return -EAGAIN;
        const RecvStep step = std::move(steps.front());
        steps.pop_front();
        if (step.error) return -step.error;
        const std::string bytes = step.fill ? std::string(size, 'x') : step.bytes.substr(0, size);
        std::memcpy(into, bytes.data(), bytes.size());
        return static_cast<ssize_t>(bytes.size());
    }
    ssize_t send(int fd, const void* from, std::size_t size) noexcept override {
        const iovec part{const_cast<void*>(from), size};
        return sendv(fd, &part, 1);
    }
    ssize_t sendv(int fd, const iovec* parts, std::size_t count) noexcept override {
        note("send");
        ++sendCounts_[fd];
        std::string all;
        for (std::size_t i = 0; i < count; ++i) {
            all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        }
        const ssize_t result = pop(sends_[fd], static_cast<ssize_t>(all.size()));
        if (result > 0) sent_[fd] += all.substr(0, static_cast<std::size_t>(result));
        return std::min(result, static_cast<ssize_t>(all.size()));
    }
    ssize_t write(int, const void*, std::size_t size) noexcept override {
        return note("write"), static_cast<ssize_t>(size);
    }
    int shutdown(int, int) noexcept override { return note("shutdown"), 0; }
    int close(int fd) noexcept override {
        note("close");
        closed_.push_back(fd);
        return 0;
    }
    int setsockopt(int, int, int, const void*, socklen_t) noexcept override { return note("setsockopt"), 0; }
    int getsockopt(int fd, int, int name, void* value, socklen_t* size) noexcept override {
        note("getsockopt");
        std::memset(value, 0, *size);
        if (name == SO_ERROR) *static_cast<int*>(value) = std::exchange(socketErrors_[fd], 0);
        return 0;
    }
    int getsockname(int, sockaddr*, socklen_t*) noexcept override { return -ENOTCONN; }
    int getpeername(int, sockaddr*, socklen_t*) noexcept override { return -ENOTCONN; }

    int epollCreate1(int) noexcept override {
        note("epoll_create1");
        return epollCreates_.empty() ? invent() : pop(epollCreates_, 0);
    }
    int epollCtl(int, int operation, int fd, epoll_event* event) noexcept override {
        note("epoll_ctl");
        const int result = pop(epollCtls_, 0);
        if (result == 0 && operation == EPOLL_CTL_ADD) registered_[fd] = *event;
        return result;
    }
    int epollPwait2(int, epoll_event* events, int max, const timespec* timeout) noexcept override {
        note("epoll_pwait2");
        if (pwait2Result_ < 0) return pwait2Result_;
        waits_.push_back(timeout ? static_cast<int>(timeout->tv_sec * 1000 + timeout->tv_nsec / 1'000'000) : -1);
        return report(events, max);
    }
    int epollWait(int, epoll_event* events, int max, int milliseconds) noexcept override {
        note("epoll_wait");
        waits_.push_back(milliseconds);
        return report(events, max);
    }
    int poll(pollfd*, nfds_t, int) noexcept override { return note("poll"), 0; }

  private:
    template <class Map, class Key, class Value>
    static Value at(const Map& map, const Key& key, Value otherwise) {
        const auto found = map.find(key);
        return found == map.end() ? otherwise : found->second;
    }
    template <class Value>
    static Value pop(std::deque<Value>& steps, Value otherwise) noexcept {
        if (steps.empty()) return otherwise;
        const Value value = steps.front();
        steps.pop_front();
        return value;
    }
    void note(const char* call) { ++counts_[call]; }
    int report(epoll_event* events, int max) noexcept {
        if (!waitErrors_.empty()) return pop(waitErrors_, 0);
        if (events_.empty()) return 0;
        const auto batch = std::move(events_.front());
        events_.pop_front();
        int count = 0;
        for (const auto& [fd, bits] : batch) {
            if (count == max) break;
            // Also after the registration has ended: that is how a test makes a stale event.
            events[count] = at(registered_, fd, epoll_event{});
            events[count++].events = bits;
        }
        return count;
    }

    int nextFd_ = 1000;
    int pwait2Result_ = 0;
    std::size_t lastAsked_ = 0;
    std::map<int, std::deque<RecvStep>> recvs_;
    std::map<int, std::deque<ssize_t>> sends_;
    std::deque<int> accepts_;
    std::deque<int> connects_;
    std::deque<int> epollCtls_;
    std::deque<int> epollCreates_;
    std::deque<int> waitErrors_;
    std::deque<std::vector<std::pair<int, std::uint32_t>>> events_;
    std::map<int, int> socketErrors_;
    std::map<int, epoll_event> registered_;
    std::map<int, std::string> sent_;
    std::map<std::string, int> counts_;
    std::map<int, int> recvCounts_;
    std::map<int, int> sendCounts_;
    std::vector<int> closed_;
    std::vector<int> waits_;
    SystemCalls calls_{*this};
};

}  // namespace weft::test
