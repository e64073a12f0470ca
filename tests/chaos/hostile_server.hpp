// HostileServer: a blocking server that follows the client's plan for each request of an http::Client: correct bytes,
// unsolicited bytes, and an end. It checks the client's requests.
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
        std::string unasked;    // sent with the answer's last byte, or at the strike
        bool strikes = false;   // waits for strike(), then sends `unasked` and performs `end`
        End end = End::stay;    // the connection's end; silence: no byte, until the client ends
        std::string uploaded;   // the required body of the request
        bool mayRepeat = true;  // the request may arrive a second time
    };

    explicit HostileServer(unsigned connections);
    // Returns when every client has ended its connections.
    ~HostileServer();
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;

    const SocketAddress& address() const { return address_; }
    // Sets the plan for the request to "/id". Call it before the request is sent.
    void plan(unsigned id, Plan plan);
    void forget(unsigned id);
    // Makes the connection that has answered `id` perform the rest of its plan. Returns once the client's kernel has
    // it: blocks the calling thread, and with it all its fibers.
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
