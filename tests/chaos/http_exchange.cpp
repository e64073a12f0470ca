#include "chaos/http_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace weft::test {

namespace {

constexpr std::array methods{"GET", "GET", "GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "BREW"};
constexpr std::array statuses{200u, 200u, 200u, 201u, 204u, 205u, 304u, 404u, 418u, 500u, 599u};

// Answers that end the connection, and answers that are streamed.
const std::set<How> cutsOff{How::throwsInWrite, How::cut, How::shortOfPromise, How::never};
const std::set<How> streams{How::writer, How::pieces, How::cut, How::shortOfPromise};

unsigned statusOfWeft(How how) {
    switch (how) {
        case How::untaken: return 404;
        case How::dropped:
        case How::throwsInRead:
        case How::throwsInFiber: return 500;
        default: return 0;
    }
}

}  // namespace

std::string patternOf(std::string_view unit, std::size_t size) {
    std::string text;
    while (text.size() < size) text += unit;
    text.resize(size);
    return text;
}

std::string chunked(std::string_view bytes, std::size_t each) {
    std::string text;
    for (char size[16]; !bytes.empty(); bytes.remove_prefix(std::min(each, bytes.size()))) {
        const std::string_view chunk = bytes.substr(0, each);
        std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
        text.append(size).append(chunk).append("\r\n");
    }
    return text + "0\r\n\r\n";
}

HttpExchange HttpExchange::random(unsigned id, Dice& dice, bool mayBeCut) {
    HttpExchange exchange;
    exchange.id = id;
    do {
        exchange.how = static_cast<How>(dice.below(static_cast<unsigned>(How::never)));
    } while (!mayBeCut && cutsOff.contains(exchange.how));
    exchange.method = dice.pick(methods);
    exchange.minor = dice.oneIn(16) ? 0 : 1;
    exchange.status = dice.pick(statuses);
    exchange.size = dice.size(dice.oneIn(16) ? 300'000 : 5'000);
    if (dice.oneIn(3)) exchange.upload = dice.size(dice.oneIn(16) ? 200'000 : 5'000);
    if (exchange.minor == 1 && dice.oneIn(2)) exchange.chunk = 1 + dice.size(999);
    exchange.hasLength = dice.oneIn(2);
    exchange.closes = dice.oneIn(24);
    exchange.delay = dice.oneIn(2) ? dice.below(12) : 0;
    if (exchange.how == How::shortOfPromise) {
        exchange.size += 1;
        exchange.hasLength = true;
    }
    return exchange;
}

HttpExchange HttpExchange::connect(unsigned id, Dice& dice) {
    HttpExchange exchange = random(id, dice, false);
    exchange.method = "CONNECT";
    exchange.minor = 1;
    exchange.upload = 0;
    exchange.closes = false;
    return exchange;
}

// A CONNECT names a host and a port: "h-1-2-3-4-5-6-7:1".
std::string HttpExchange::target() const {
    char text[128];
    std::snprintf(text, sizeof text, "/%u/%u/%u/%u/%u/%u/%u", static_cast<unsigned>(how), id, status, size, upload,
                  hasLength ? 1u : 0u, delay);
    std::string target = text;
    if (method != "CONNECT") return target;
    std::replace(target.begin(), target.end(), '/', '-');
    return "h" + target + ":1";
}

HttpExchange HttpExchange::of(std::string_view target, std::string_view method, unsigned minor) {
    HttpExchange exchange;
    unsigned how = 0, length = 0;
    std::string text(target);
    if (method == "CONNECT") std::replace(text.begin(), text.end(), '-', '/');
    if (std::sscanf(text.c_str() + (method == "CONNECT" ? 1 : 0), "/%u/%u/%u/%u/%u/%u/%u", &how, &exchange.id,
                    &exchange.status, &exchange.size, &exchange.upload, &length, &exchange.delay) != 7) {
        wrong("a request arrives with another target: " + text);
    }
    exchange.how = static_cast<How>(how);
    exchange.hasLength = length != 0;
    exchange.method = method;
    exchange.minor = minor;
    return exchange;
}

std::string HttpExchange::request() const {
    std::string text = method + " " + target() + " HTTP/1." + std::to_string(minor) + "\r\nHost: chaos\r\n";
    if (closes) text += "Connection: close\r\n";
    if (upload == 0) return text + "\r\n";
    if (chunk != 0) return text + "Transfer-Encoding: chunked\r\n\r\n" + chunked(uploaded(), chunk);
    return text + "Content-Length: " + std::to_string(upload) + "\r\n\r\n" + uploaded();
}

std::string HttpExchange::uploaded() const {
    return patternOf("GET /0/" + std::to_string(id) + "/200/0/0/0/0 HTTP/1.1\r\nHost: smuggled\r\n\r\n", upload);
}

std::string HttpExchange::body() const {
    const std::string foreign = "HTTP/1.1 200 OK\r\nX-Id: in the body of " + std::to_string(id);
    return patternOf(foreign + "\r\nContent-Length: 0\r\n\r\n", size);
}

bool HttpExchange::endsConnection() const {
    return closes || minor == 0 || mayBeCut();
}

bool HttpExchange::opensTunnel() const {
    return method == "CONNECT" && owedStatus() / 100 == 2;
}

unsigned HttpExchange::owedStatus() const {
    return statusOfWeft(how) != 0 ? statusOfWeft(how) : status;
}

bool HttpExchange::mayBeCut() const {
    return cutsOff.contains(how);
}

std::string HttpExchange::judge(const HttpAnswer& answer) const {
    const std::string from = method + " " + target() + " HTTP/1." + std::to_string(minor) + ": ";
    if (answer.status != owedStatus()) {
        return from + "answered with " + std::to_string(answer.status) + ", X-Id '" + answer.header("X-Id") + "'";
    }
    if (answer.interims != (how == How::interim && minor == 1 ? 2u : 0u)) {
        return from + std::to_string(answer.interims) + " interim answers";
    }
    if (statusOfWeft(how) != 0) return answer.header("X-Id").empty() ? "" : from + "an answer of another request";
    const std::string verdict = judgeOwn(answer);
    return verdict.empty() ? "" : from + verdict;
}

std::string HttpExchange::judgeOwn(const HttpAnswer& answer) const {
    if (answer.header("X-Id") != std::to_string(id)) return "a foreign answer, X-Id '" + answer.header("X-Id") + "'";
    const bool bodiless = method == "HEAD" || opensTunnel() || status == 204 || status == 205 || status == 304;
    if (answer.body != (bodiless ? "" : body())) {
        return "another body, of " + std::to_string(answer.body.size()) + " bytes: " + answer.body.substr(0, 200);
    }
    const bool mayLastUntilClose = streams.contains(how) && minor == 0;
    return answer.untilClose && !mayLastUntilClose ? "its body ends with the connection" : "";
}

}  // namespace weft::test
