// The fuzz targets: functions that accept any bytes and abort when the code under test handles them wrongly. Each is
// linked into a fuzzer of its own (libfuzzer.cpp), and all of them into the replay of their corpora.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace weft::fuzz {

void requestTarget(std::string_view bytes);      // pipelined requests, heads and bodies
void responseTarget(std::string_view bytes);     // a byte for the request's method, then a response
void chunkedBodyTarget(std::string_view bytes);  // one chunked body
void bufferTarget(std::string_view bytes);       // operations on buffers
void serverTarget(std::string_view bytes);       // what a client sends to a whole server connection
void clientTarget(std::string_view bytes);       // three bytes for the requests' methods, then what a server sends
void tlsHelloTarget(std::string_view bytes);     // a byte for the side, then what it gets before any key is known
void tlsRecordsTarget(std::string_view bytes);   // a byte for side and buffers, then what an authentic peer does

struct Target {
    const char* name;  // of the corpus's folder
    void (*run)(std::string_view);
};
inline constexpr Target targets[] = {
    {"request", requestTarget},    {"response", responseTarget},      {"chunked_body", chunkedBodyTarget},
    {"buffer", bufferTarget},      {"server", serverTarget},          {"client", clientTarget},
#ifdef WEFT_FUZZ_TLS
    {"tls_hello", tlsHelloTarget}, {"tls_records", tlsRecordsTarget},
#endif
};

[[noreturn]] inline void fail(const char* what, std::string_view one = {}, std::string_view other = {}) {
    std::fprintf(stderr, "%s\n--- one ---\n%.*s\n--- other ---\n%.*s\n", what, static_cast<int>(one.size()), one.data(),
                 static_cast<int>(other.size()), other.data());
    std::abort();
}

inline void require(bool condition, const char* what, std::string_view seen = {}) {
    if (!condition) fail(what, seen);
}

inline void requireSame(const std::string& one, const std::string& other, const char* what) {
    if (one != other) fail(what, one, other);
}

}  // namespace weft::fuzz
