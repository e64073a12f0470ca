// HttpExchange: one random request, and what its answer must be. The request's target says all of it, so the server knows
// what to do, and the client what it is owed, and only the exchange's id ties them together.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/pipeline/http/version.hpp>

#include "chaos/chaos.hpp"
#include "chaos/http_answers.hpp"

namespace weft::test {

// How the server answers.
enum class How : unsigned char {
    inDelivery,      // writeAndFlush() of a Response without a ticket, while the request is delivered
    toRequest,       // the same with Response::to()
    responder,       // Responder::send(), at once
    fiber,           // ... from a fiber, later
    otherCarrier,    // ... from a fiber of another carrier
    writer,          // BodyWriter, from a fiber
    pieces,          // a streamed Response, Buffers and Contents, a LastContent: by write(), in delivery
    late,            // a fiber answers without a ticket, which must be refused, then with one
    stray,           // a Buffer outside of a body, which must be refused, then the answer
    interim,         // 103s, a refused attempt to send one as the answer, then the answer
    untaken,         // no handler takes it: 404
    dropped,         // the handler returns: 500
    throwsInRead,    // the handler throws: 500
    throwsInFiber,   // the fiber throws: 500
    throwsInWrite,   // a handler throws in write(): the connection ends
    cut,             // a BodyWriter is dropped: the connection ends
    shortOfPromise,  // less than Content-Length promised: the connection ends
    never,           // a fiber that waits for its cancellation
    held,            // a fiber that does nothing until the server is told: ChaoticServer::hold()
    count_,
};

struct HttpExchange {
    How how = How::inDelivery;
    std::string method = "GET";
    unsigned minor = 1;       // of the version: HTTP/1.0, HTTP/1.1
    unsigned id = 0;
    unsigned status = 200;
    unsigned size = 0;        // bytes of the answer's body
    unsigned upload = 0;      // bytes of the request's body
    unsigned chunk = 0;       // the upload is chunked, so many bytes in each; 0: it has a length
    bool hasLength = false;   // of a streamed answer
    bool closes = false;      // the request says Connection: close
    unsigned delay = 0;       // turns, or with more than 8 a sleep of that many times 10 us

    // Neither `never` nor `held`. `mayBeCut`: also what ends the connection before its time.
    static HttpExchange random(unsigned id, Dice& dice, bool mayBeCut);
    // A CONNECT, which a status of 2xx grants.
    static HttpExchange connect(unsigned id, Dice& dice);
    // Of what request() says in its target.
    static HttpExchange of(std::string_view target, std::string_view method, unsigned minor);

    std::string target() const;
    std::string request() const;
    std::string uploaded() const;   // the request's body
    std::string body() const;       // the answer's: it looks like other answers

    // The answer ends the connection; what comes behind the request is not answered.
    bool endsConnection() const;
    // A granted CONNECT: what comes behind the request is echoed.
    bool opensTunnel() const;
    // Only part of an answer is owed, or none.
    bool mayBeCut() const;
    // What is wrong with this answer; "": nothing.
    std::string judge(const HttpAnswer& answer) const;

  private:
    unsigned owedStatus() const;
    std::string judgeOwn(const HttpAnswer& answer) const;
};

// `unit` again and again, `size` bytes.
std::string patternOf(std::string_view unit, std::size_t size);
// `bytes` as a chunked body, with `each` bytes in a chunk.
std::string chunked(std::string_view bytes, std::size_t each);

}  // namespace weft::test
