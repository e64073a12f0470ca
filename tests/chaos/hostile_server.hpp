// HostileServer: a blocking server that does to each request of an http::Client what the client's plan for it says: bytes
// that are right, bytes that nobody asked for, and an end. It checks what the client sends.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <weft/pipeline/socket_address.hpp>
#include <weft/transports/fd.hpp>

#include "framework/http/delivery.hpp"

namespace weft::test {

class HostileServer {
  public:
    enum class End : unsigned char { stay, finish, reset, silence };

    struct Plan {
        std::string answer;
        std::string unasked;     // sent with the answer's last byte, or at the strike
        bool strikes = false;    // waits for strike(), then sends `unasked` and ends
        End end = End::stay;     // after it; silence: no byte, until the client ends
        std::string uploaded;    // what the request's body must be
        bool mayRepeat = true;   // the request may come a second time
    };

    explicit HostileServer(unsigned connections);
    // Ends when every client has ended its connections.
    ~HostileServer();
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;

    const SocketAddress& address() const { return address_; }
    // What happens to the request for "/id". Before it is sent.
    void plan(unsigned id, Plan plan);
    void forget(unsigned id);
    // Bids the connection that has answered `id` to do the rest of its plan. Returns once the client's kernel has it:
    // blocks the calling thread, fibers and all.
    void strike(unsigned id);

  private:
    struct Case {
        Plan plan;
        unsigned arrivals = 0;
        bool struck = false;
        bool delivered = false;
    };
    struct Received {
        unsigned id = 0;
        std::string method;
        std::string body;
    };

    void serve();
    bool answerOne(int peer, std::string& input);
    bool receive(int peer, std::string& input, Received& request);
    bool receiveChunks(int peer, std::string& input, std::string& body);
    static bool receiveUntil(int peer, std::string& input, std::size_t size);
    Plan arrived(const Received& request);
    void awaitStrike(int peer, unsigned id, const Plan& plan);
    static void end(int peer, End how);

    Fd listener_;
    SocketAddress address_ = SocketAddress::loopbackV4(0);
    std::mutex lock_;  // guards cases_
    std::condition_variable changed_;
    std::map<unsigned, Case> cases_;
    std::vector<std::thread> threads_;
};

}  // namespace weft::test
