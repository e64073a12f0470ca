// http::Client with a pool of connections against servers that send unsolicited bytes: each request gets its own
// answer, or fails where the server gave none. No request gets another one's bytes, and none is sent twice that must
// not be.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chaos/chaos.hpp"
#include "chaos/hostile_server.hpp"
#include "chaos/http_exchange.hpp"
#include "framework/bench.hpp"
#include "support/watchdog.hpp"

namespace weft::test {
namespace {

using End = HostileServer::End;
using http::Client;
using http::ClientRequest;
using http::Method;

constexpr unsigned carriers = 2;
constexpr unsigned fibersEach = 6;
constexpr unsigned connectionsEach = 4;

std::atomic<unsigned> lastId{0};

// A request, the server's reaction to it, and the required result.
struct Trial {
    Trial(unsigned id, Dice& dice);

    bool bodiless() const { return method == Method::head || status == 204 || status == 304; }

    const unsigned id;
    Method method;
    unsigned status;
    std::string body;
    HostileServer::Plan plan;
    bool succeeds = true;
    Duration timeout = std::chrono::minutes(1);

  private:
    void frame(Dice& dice);
    void spoil(Dice& dice);
    void beSilent();
    void addUnasked(Dice& dice);
    void cut(Dice& dice);
    void precede(Dice& dice);
};

std::string interims(std::size_t size) {
    return patternOf("HTTP/1.1 103 Early Hints\r\nX-Id: interim\r\n\r\n", size / 43 * 43);
}

// Unsolicited bytes: an answer, many, a part of one, a body, interim answers, or any byte.
std::string unaskedBytes(Dice& dice) {
    const std::string foreign = "HTTP/1.1 200 OK\r\nX-Id: foreign\r\nContent-Length: 7\r\n\r\nforeign";
    switch (dice.below(5)) {
        case 0: return foreign;
        case 1: return foreign + foreign + foreign;
        case 2: return foreign.substr(0, 1 + dice.below(static_cast<unsigned>(foreign.size())));
        case 3: return interims(43 + dice.size(8000)) + foreign;
        default: return std::string(1, static_cast<char>(dice.below(256)));
    }
}

Trial::Trial(unsigned id, Dice& dice) : id(id) {
    constexpr std::array methods{Method::get, Method::get, Method::head, Method::post, Method::put, Method::patch};
    constexpr std::array statuses{200u, 200u, 200u, 204u, 304u, 404u, 500u};
    method = dice.pick(methods);
    status = dice.pick(statuses);
    plan.mayRepeat = method != Method::post && method != Method::patch;
    if (method != Method::get && method != Method::head)
        plan.uploaded = patternOf(std::to_string(id) + " ", dice.size(20'000));
    if (!bodiless())
        body = patternOf("HTTP/1.1 200 OK\r\nX-Id: body\r\n\r\n", dice.size(dice.oneIn(8) ? 200'000 : 4'000));
    frame(dice);
    spoil(dice);
}

void Trial::spoil(Dice& dice) {
    switch (dice.below(8)) {
        case 0: return cut(dice);
        case 1: return precede(dice);
        case 2: return beSilent();
        case 3:
        case 4:
        case 5: return addUnasked(dice);
        default: return;
    }
}

void Trial::beSilent() {
    plan.end = End::silence;
    timeout = std::chrono::milliseconds(20);
    succeeds = false;
}

void Trial::frame(Dice& dice) {
    plan.answer = "HTTP/1.1 " + std::to_string(status) + " X\r\nX-Id: " + std::to_string(id) + "\r\n";
    if (bodiless()) {
        if (status != 204 && dice.oneIn(2))
            plan.answer += "Content-Length: " + std::to_string(dice.below(1000)) + "\r\n";
        plan.answer += "\r\n";
    } else if (dice.oneIn(6)) {
        plan.answer += "\r\n" + body;  // until the end of the connection
        plan.end = dice.oneIn(2) ? End::finish : End::reset;
        succeeds = plan.end == End::finish;
    } else if (dice.oneIn(2)) {
        plan.answer += "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 1 + dice.size(5'000));
    } else {
        plan.answer += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
}

void Trial::addUnasked(Dice& dice) {
    if (plan.end != End::stay) return;
    plan.strikes = dice.oneIn(2) || body.size() > 4'000;  // the last bytes of a long answer could arrive separately
    if (!plan.strikes || dice.oneIn(2)) plan.unasked = unaskedBytes(dice);
    if (plan.strikes) plan.end = dice.pick(std::array{End::stay, End::finish, End::reset});
}

void Trial::cut(Dice& dice) {
    const bool untilClose = plan.end != End::stay;
    plan.answer.resize(untilClose ? dice.below(20) : dice.below(static_cast<unsigned>(plan.answer.size())));
    plan.end = dice.oneIn(2) ? End::finish : End::reset;
    succeeds = false;
}

void Trial::precede(Dice& dice) {
    const bool flood = dice.oneIn(4);
    plan.answer.insert(0, interims(flood ? 64'000 : 43 + dice.size(4'000)));
    succeeds = succeeds && !flood;
    if (flood) plan.end = End::finish;
}

class PoolChaos {
  public:
    PoolChaos() : client_(clientOptions()), watchdog_(group_.carriers()) {}

    void run() {
        std::vector<JoinHandle<void>> fibers;
        for (unsigned i = 0; i < carriers * fibersEach; ++i) {
            fibers.push_back(group_.carriers().carrier(i % carriers).spawn([this, i] {
                for (Dice dice(i); run_.goesOn();) tryOne(dice);
            }));
        }
        for (auto& fiber : fibers) fiber.join();
        for (unsigned i = 0; i < carriers; ++i) group_.carriers().carrier(i).spawn([this] { expectIdle(); }).join();
    }

  private:
    static http::ClientOptions clientOptions() {
        http::ClientOptions options;
        options.maxPerHost = connectionsEach;
        options.maxIdlePerHost = connectionsEach - 1;
        return options;
    }

    void tryOne(Dice& dice) {
        const Trial trial(++lastId, dice);
        server_.plan(trial.id, trial.plan);
        const bool streamed = dice.oneIn(3);
        ErrorCode error;
        streamed ? exchange(trial, dice, error) : request(trial, error);
        if (static_cast<bool>(error) == trial.succeeds) {
            fail(trial, error ? "fails: " + error.message() : "succeeds");
        }
        if (trial.succeeds && trial.plan.strikes && !anythingWrong()) server_.strike(trial.id);
        server_.forget(trial.id);
        run_.count();
        watchdog_.advance();
        if (dice.oneIn(4)) thisFiber::yield();
    }
    static http::RequestOptions optionsOf(const Trial& trial) {
        http::RequestOptions options;
        options.timeout = trial.timeout;
        return options;
    }
    void request(const Trial& trial, ErrorCode& error) {
        ClientRequest request(trial.method, "/" + std::to_string(trial.id), Buffer::copyOf(trial.plan.uploaded));
        const http::ClientResponse response =
            client_.request(server_.address(), std::move(request), optionsOf(trial), error);
        if (!error) check(trial, response, response.body());
    }
    // The same in pieces, in both directions.
    void exchange(const Trial& trial, Dice& dice, ErrorCode& error) {
        try {
            ClientRequest head(trial.method, "/" + std::to_string(trial.id));
            head.streamed = !trial.plan.uploaded.empty();
            http::ClientExchange exchange = client_.begin(server_.address(), std::move(head), optionsOf(trial));
            for (std::string_view rest = trial.plan.uploaded; !rest.empty();) {
                const std::string_view piece = rest.substr(0, 1 + dice.size(8'000));
                exchange.send(Buffer::copyOf(piece));
                rest.remove_prefix(piece.size());
            }
            if (!trial.plan.uploaded.empty()) exchange.end();
            std::string body;
            while (const auto piece = exchange.read()) body += piece->view();
            check(trial, exchange.response(), body);
        } catch (const SystemError& failure) {
            error = failure.code();
        }
    }
    void check(const Trial& trial, const http::ClientResponse& response, std::string_view body) {
        const std::string owner(response.header("X-Id").value_or("none"));
        if (owner != std::to_string(trial.id)) fail(trial, "gets the answer of X-Id '" + owner + "'");
        if (http::codeOf(response.status()) != trial.status) fail(trial, "gets another status");
        if (body != trial.body) fail(trial, "gets another body: " + std::string(body.substr(0, 200)));
    }
    void fail(const Trial& trial, const std::string& what) {
        wrong(std::string(nameOf(trial.method)) + " /" + std::to_string(trial.id) + " " + what + "\nstrikes " +
              std::to_string(trial.plan.strikes) + ", end " + std::to_string(static_cast<int>(trial.plan.end)) +
              ", unasked '" + trial.plan.unasked.substr(0, 200) + "', answer " +
              std::to_string(trial.plan.answer.size()) + " bytes: " + trial.plan.answer.substr(0, 300));
    }
    void expectIdle() {
        const http::ClientStats stats = client_.stats();
        if (stats.inUse + stats.waiting != 0) wrong("a connection is in use, or a request waits, after all have ended");
        if (stats.idle > connectionsEach - 1) wrong("more idle connections than allowed");
    }

    ChaosRun run_{"requests"};
    HostileServer server_{carriers * connectionsEach * 2};
    EventLoopGroup group_{groupOptions(carriers)};  // destroyed before the server, with its connections
    const Client client_;
    Watchdog watchdog_;
};

TEST(HttpChaos, ARequestIsAnsweredWithItsOwnAnswerWhateverTheServerSends) {
    PoolChaos chaos;
    chaos.run();
}

}  // namespace
}  // namespace weft::test
