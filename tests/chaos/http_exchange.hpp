// HttpExchange: one random request and its required answer. The request's target encodes everything, so the server
// knows what to do and the client what to expect; only the exchange's id connects the two.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/http/version.hpp>

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
    held,            // a fiber that waits until ChaoticServer::hold(false)
    count_,
};

struct HttpExchange {
    How how = How::inDelivery;
    std::string method = "GET";
    unsigned minor = 1;  // of the version: HTTP/1.0, HTTP/1.1
    unsigned id = 0;
    unsigned status = 200;
    unsigned size = 0;       // bytes of the answer's body
    unsigned upload = 0;     // bytes of the request's body
    unsigned chunk = 0;      // of the upload, which is then chunked; 0: it has a Content-Length
    bool hasLength = false;  // of a streamed answer
    bool closes = false;     // the request says Connection: close
    unsigned delay = 0;      // turns, or with more than 8 a sleep of that many times 10 us

    // Never `never` or `held`. `mayBeCut`: includes answers that end the connection early.
    static HttpExchange random(unsigned id, Dice& dice, bool mayBeCut);
    // A CONNECT; a 2xx status grants it.
    static HttpExchange connect(unsigned id, Dice& dice);
    // The exchange that request() has encoded in its target.
    static HttpExchange of(std::string_view target, std::string_view method, unsigned minor);

    std::string target() const;
    std::string request() const;
    std::string uploaded() const;  // the request's body
    std::string body() const;      // of the answer; it looks like other answers

    // The answer ends the connection; requests after it are not answered.
    bool endsConnection() const;
    // A granted CONNECT: the server echoes the bytes after the request.
    bool opensTunnel() const;
    // The answer may be truncated or missing.
    bool mayBeCut() const;
    // Describes what is wrong with this answer; "": nothing.
    std::string judge(const HttpAnswer& answer) const;

  private:
    unsigned owedStatus() const;
    std::string judgeOwn(const HttpAnswer& answer) const;
};

// `unit` repeated up to `size` bytes.
std::string patternOf(std::string_view unit, std::size_t size);
// `bytes` as a chunked body, with `each` bytes in a chunk.
std::string chunked(std::string_view bytes, std::size_t each);

}  // namespace weft::test
