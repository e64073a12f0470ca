// Raw clients of every kind against a server that answers in every way: each answer belongs to the request that was
// sent, in order and correctly framed, or the connection ends; nothing hangs, and nothing is left once the clients have
// gone.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "chaos/chaos.hpp"
#include "chaos/chaotic_server.hpp"
#include "chaos/http_answers.hpp"
#include "chaos/http_exchange.hpp"
#include "chaos/raw_peer.hpp"
#include "support/watchdog.hpp"

namespace weft::test {
namespace {

constexpr unsigned clients = 4;  // threads
constexpr int connectionsARound = 25;

std::atomic<unsigned> lastId{0};

// One connection: the requests sent on it and the required answers.
class Conversation {
  public:
    Conversation(const ChaoticServer& server, Dice& dice)
        : dice_(dice), kind_(dice.below(ChaoticServer::kinds.size())), peer_(server.address(kind_)) {
        const unsigned count = 1 + dice.size(20);
        const bool mayBeCut = dice.oneIn(4);
        for (unsigned i = 0; i < count; ++i) exchanges_.push_back(HttpExchange::random(++lastId, dice, mayBeCut));
        for (const HttpExchange& exchange : exchanges_) requests_ += exchange.request();
    }
    void run() {
        switch (dice_.below(7)) {
            case 0: return leave();
            case 1: return sendNonsense();
            case 2: return abandon();
            case 3: return endOutputEarly();
            case 4: return askForTunnel();
            default: return converse([] {});
        }
    }
    std::size_t answered() const { return answered_; }

  private:
    // Receives all answers, then ends in order.
    template <class Then>
    void converse(Then then) {
        peer_.sendChopped(requests_, dice_);
        takeAnswers();
        expectOwed();
        then();
        if (dice_.oneIn(4)) return peer_.reset();
        peer_.endOutput();
        expectNothingMore();
    }
    // Ends its output right after sending everything; the answers still arrive if the server's InputEnd option allows
    // it.
    void endOutputEarly() {
        peer_.sendChopped(requests_, dice_);
        peer_.endOutput();
        takeAnswers();
        if (ChaoticServer::kinds[kind_].inputEnd == http::InputEnd::answer) expectOwed();
        expectNothingMore();
    }
    // Leaves in the middle of a request, by a close, a half-close or a reset.
    void leave() {
        peer_.sendChopped(std::string_view(requests_).substr(0, dice_.below(static_cast<unsigned>(requests_.size()))),
                          dice_);
        if (dice_.oneIn(3)) return peer_.reset();
        if (dice_.oneIn(2)) return peer_.close();
        peer_.endOutput();
        takeAnswers();
        expectRefusal();
        expectNothingMore();
    }
    // The last request but one is a CONNECT: the bytes of the last one are echoed, or it is answered.
    void askForTunnel() {
        exchanges_ = {HttpExchange::random(++lastId, dice_, false), HttpExchange::connect(++lastId, dice_),
                      HttpExchange::random(++lastId, dice_, false)};
        const HttpExchange last = exchanges_.back();
        if (exchanges_[1].opensTunnel()) exchanges_.pop_back();
        requests_ = exchanges_[0].request() + exchanges_[1].request() + last.request();
        converse([&] {
            if (ended_ || !exchanges_[1].opensTunnel()) return;
            while (peer_.input().size() < last.request().size() && peer_.receive()) {
            }
            if (peer_.input() != last.request()) fail("a tunnel sends back: " + peer_.input().substr(0, 300));
            peer_.input().clear();
        });
    }
    // Leaves a fiber behind that would wait for ever if it were not cancelled.
    void abandon() {
        exchanges_.resize(std::min<std::size_t>(exchanges_.size(), 4));
        exchanges_.push_back(HttpExchange::random(++lastId, dice_, false));
        exchanges_.back().how = How::never;
        exchanges_.back().upload = 0;
        requests_.clear();
        for (const HttpExchange& exchange : exchanges_) requests_ += exchange.request();
        peer_.sendChopped(requests_, dice_);
        while (dice_.oneIn(2) && answered_ + 1 < exchanges_.size() && takeAnswer()) {
        }
        const bool noticesEnd = ChaoticServer::kinds[kind_].inputEnd == http::InputEnd::cancel;
        noticesEnd&& dice_.oneIn(2) ? peer_.close() : peer_.reset();
    }
    // Puts a forbidden byte into a head: the requests before it are answered, then the server refuses it.
    void sendNonsense() {
        const std::size_t bad = dice_.below(static_cast<unsigned>(exchanges_.size()));
        std::size_t at = 0;
        for (std::size_t i = 0; i < bad; ++i) at += exchanges_[i].request().size();
        at += 1 + dice_.below(static_cast<unsigned>(exchanges_[bad].target().size()));
        requests_.insert(at, 1, '\0');
        exchanges_.resize(bad);
        peer_.sendChopped(requests_, dice_);
        takeAnswers();
        expectOwed();
        expectRefusal();
        expectNothingMore();
    }

    void takeAnswers() {
        while (answered_ < exchanges_.size() && !ended_ && takeAnswer()) {
        }
    }
    // False when there is none.
    bool takeAnswer() {
        const HttpExchange& exchange = exchanges_[answered_];
        const AnswerReader::Result result = next(exchange.method);
        if (result == AnswerReader::Result::whole) return !isRefusal(exchange) && judge(exchange);
        if (result == AnswerReader::Result::fault) fail("not an answer: " + reader_.fault());
        return false;
    }
    // `more`: the connection has ended before the answer was complete.
    AnswerReader::Result next(std::string_view method) {
        AnswerReader::Result result = reader_.take(peer_.input(), method, hasEnded());
        while (result == AnswerReader::Result::more && peer_.receive())
            result = reader_.take(peer_.input(), method, false);
        return result == AnswerReader::Result::more ? reader_.take(peer_.input(), method, hasEnded()) : result;
    }
    bool hasEnded() const { return peer_.end() == 0; }
    // The refusal of a truncated request: kept for expectRefusal().
    bool isRefusal(const HttpExchange& exchange) {
        const HttpAnswer& answer = reader_.answer();
        refused_ = answer.header("X-Id").empty() && answer.status == 400 && exchange.status != 400;
        return refused_;
    }
    bool judge(const HttpExchange& exchange) {
        ++answered_;
        ended_ = exchange.endsConnection();
        if (exchange.mayBeCut()) return judgeCut(exchange);
        const std::string verdict = exchange.judge(reader_.answer());
        if (!verdict.empty()) fail(verdict);
        return verdict.empty();
    }
    // An answer that is complete although the server did not end it.
    bool judgeCut(const HttpExchange& exchange) {
        const bool bodiless =
            exchange.method == "HEAD" || !http::mayHaveContent(static_cast<http::Status>(exchange.status));
        if (exchange.how == How::never || (!bodiless && exchange.size > 1 && reader_.answer().header("X-Id") != ""))
            fail("a cut answer looks whole: " + exchange.target());
        ended_ = exchange.closes || exchange.minor == 0;
        return true;
    }
    // All answers, unless the connection was allowed to end early.
    void expectOwed() {
        if (answered_ == exchanges_.size() || ended_ || anythingWrong()) return;
        if (std::any_of(exchanges_.begin(), exchanges_.end(), [](const HttpExchange& one) { return one.mayBeCut(); }))
            return;
        fail("no answer to " + exchanges_[answered_].method + " " + exchanges_[answered_].target());
    }
    // An incomplete request is refused with 400, or not answered.
    void expectRefusal() {
        if (ended_ || refused_ || anythingWrong()) return;
        if (next("GET") == AnswerReader::Result::whole && reader_.answer().status != 400) {
            fail("answered with " + std::to_string(reader_.answer().status) + " instead of a refusal");
        }
    }
    void expectNothingMore() {
        peer_.receiveToEnd();
        const bool cut = answered_ < exchanges_.size();  // the answer after the last whole one may be cut anywhere
        if (!cut && !peer_.input().empty()) fail("more than was asked for: " + peer_.input().substr(0, 300));
    }
    void fail(const std::string& what) {
        std::string text =
            what + "\nend of input: " + std::to_string(peer_.end()) + ", answered " + std::to_string(answered_) + " of";
        for (const HttpExchange& exchange : exchanges_) text += "\n  " + exchange.method + " " + exchange.target();
        wrong(text);
    }

    Dice& dice_;
    const std::size_t kind_;
    RawPeer peer_;
    std::vector<HttpExchange> exchanges_;
    std::string requests_;
    AnswerReader reader_;
    std::size_t answered_ = 0;
    bool ended_ = false;    // the last answer received was the connection's last
    bool refused_ = false;  // ... was the refusal of an incomplete request
};

TEST(HttpChaos, EachAnswerIsForTheRequestThatWasSentOrTheConnectionEnds) {
    ChaosRun run("answers");
    ChaoticServer server;
    Watchdog watchdog(server.carriers());
    for (std::uint64_t round = 0; run.goesOn(); ++round) {
        std::vector<std::thread> threads;
        for (unsigned client = 0; client < clients; ++client) {
            threads.emplace_back([&, client] {
                Dice dice(round * clients + client);
                for (int i = 0; i < connectionsARound && run.goesOn(); ++i) {
                    Conversation conversation(server, dice);
                    conversation.run();
                    run.count(conversation.answered());
                    watchdog.advance();
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        server.awaitIdle();
    }
}

}  // namespace
}  // namespace weft::test
