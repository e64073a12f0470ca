#include "chaos/hostile_server.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "chaos/chaos.hpp"

namespace weft::test {

namespace {

// Receives until the client has ended.
void drain(int peer) {
    for (char room[4096]; ::recv(peer, room, sizeof room, 0) > 0;) {
    }
}

// The value of a header with exactly this spelling; "" when there is none.
std::string headerOf(const std::string& head, const std::string& name) {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
}

}  // namespace

HostileServer::HostileServer(unsigned connections) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    socklen_t size = address_.size();
    EXPECT_EQ(::bind(listener_.get(), address_.data(), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 128), 0);
    EXPECT_EQ(::getsockname(listener_.get(), address_.data(), &size), 0);
    for (unsigned i = 0; i < connections; ++i) threads_.emplace_back([this] { serve(); });
}

HostileServer::~HostileServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
}

void HostileServer::plan(unsigned id, Plan plan) {
    std::lock_guard held(lock_);
    cases_[id].plan = std::move(plan);
}

void HostileServer::forget(unsigned id) {
    std::lock_guard held(lock_);
    const auto found = cases_.find(id);
    if (found->second.plan.end != End::silence) return void(cases_.erase(found));
    found->second.plan = {};  // its client has not waited: the request may still arrive
    found->second.plan.end = End::silence;
}

void HostileServer::strike(unsigned id) {
    std::unique_lock held(lock_);
    Case& one = cases_[id];
    one.struck = true;
    changed_.notify_all();
    if (!changed_.wait_for(held, std::chrono::minutes(1), [&] { return one.delivered; })) {
        wrong("the server of /" + std::to_string(id) + " does not strike: another one has answered");
    }
}

void HostileServer::serve() {
    for (;;) {
        const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!peer) return;
        const int noDelay = 1;
        ::setsockopt(peer.get(), IPPROTO_TCP, 1 /* TCP_NODELAY */, &noDelay, sizeof noDelay);
        for (std::string input; answerOne(peer.get(), input);) {
        }
    }
}

// False when the connection is over.
bool HostileServer::answerOne(int peer, std::string& input) {
    Received request;
    if (!receive(peer, input, request)) return false;
    if (!input.empty()) wrong("a client sends more than its request: " + input);
    const Plan plan = arrived(request);
    if (plan.end == End::silence) {
        drain(peer);
        return false;
    }
    const std::string bytes = plan.strikes ? plan.answer : plan.answer + plan.unasked;
    Dice dice(request.id);
    std::string_view rest = bytes;
    for (std::size_t last = plan.answer.empty() ? 0 : plan.answer.size() - 1;
         last > 0;) {  // then the rest in one piece
        const std::size_t piece = std::min<std::size_t>(last, 1 + dice.size(8192));
        if (::send(peer, rest.data(), piece, MSG_NOSIGNAL) != static_cast<ssize_t>(piece)) return false;
        rest.remove_prefix(piece);
        last -= piece;
    }
    ::send(peer, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (plan.strikes) {
        awaitStrike(peer, request.id, plan);
    } else {
        end(peer, plan.end);
    }
    return plan.end == End::stay;
}

void HostileServer::awaitStrike(int peer, unsigned id, const Plan& plan) {
    std::unique_lock held(lock_);
    Case& one = cases_[id];
    if (!changed_.wait_for(held, std::chrono::minutes(1), [&] { return one.struck; })) return;
    held.unlock();
    sendUntilTaken(peer, plan.unasked);
    if (plan.end == End::finish) ::shutdown(peer, SHUT_WR);
    if (plan.end == End::reset) resetAndKeep(peer);
    held.lock();
    one.delivered = true;
    changed_.notify_all();
    held.unlock();
    if (plan.end == End::finish) drain(peer);
}

void HostileServer::end(int peer, End how) {
    if (how == End::reset) resetAndKeep(peer);
    if (how != End::finish) return;
    ::shutdown(peer, SHUT_WR);
    drain(peer);
}

bool HostileServer::receiveUntil(int peer, std::string& input, std::size_t size) {
    for (char room[16 * 1024]; input.size() < size;) {
        const ssize_t count = ::recv(peer, room, sizeof room, 0);
        if (count <= 0) return false;
        input.append(room, static_cast<std::size_t>(count));
    }
    return true;
}

bool HostileServer::receive(int peer, std::string& input, Received& request) {
    std::size_t end = 0;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
        if (!receiveUntil(peer, input, input.size() + 1)) return false;
    }
    const std::string head = input.substr(0, end + 2);
    input.erase(0, end + 4);
    request.method = head.substr(0, head.find(' '));
    request.id = static_cast<unsigned>(std::atoi(head.c_str() + request.method.size() + 2));
    if (headerOf(head, "Transfer-Encoding") == "chunked") return receiveChunks(peer, input, request.body);
    const std::size_t length = std::strtoul(headerOf(head, "Content-Length").c_str(), nullptr, 10);
    if (!receiveUntil(peer, input, length)) return false;
    request.body = input.substr(0, length);
    input.erase(0, length);
    return true;
}

bool HostileServer::receiveChunks(int peer, std::string& input, std::string& body) {
    for (;;) {
        std::size_t line = 0;
        while ((line = input.find("\r\n")) == std::string::npos) {
            if (!receiveUntil(peer, input, input.size() + 1)) return false;
        }
        const std::size_t size = std::strtoul(input.c_str(), nullptr, 16);
        if (!receiveUntil(peer, input, line + 2 + size + 2)) return false;
        body += input.substr(line + 2, size);
        input.erase(0, line + 2 + size + 2);
        if (size == 0) return true;
    }
}

HostileServer::Plan HostileServer::arrived(const Received& request) {
    std::lock_guard held(lock_);
    const auto found = cases_.find(request.id);
    if (found == cases_.end()) {
        wrong("a request of which nobody knows: " + request.method + " /" + std::to_string(request.id));
        return {"", "", false, End::reset, "", true};
    }
    Case& one = found->second;
    if (++one.arrivals > (one.plan.mayRepeat ? 2u : 1u)) {
        wrong(request.method + " /" + std::to_string(request.id) + " arrives " + std::to_string(one.arrivals) +
              " times");
    }
    if (one.plan.end != End::silence && request.body != one.plan.uploaded) {
        wrong("an upload of /" + std::to_string(request.id) + " arrives changed");
    }
    return one.plan;
}

}  // namespace weft::test
