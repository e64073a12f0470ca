// A table of request heads, each with its required outcome, for the parser's tests, for fuzz corpora and for replay
// against a whole server. Plain data: depends on no parser.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::http::test {

/// `status` 0: accepted as described by `summary`: "METHOD target version form body connection [flags]". 1: incomplete.
/// Anything else: refused with that status.
struct RequestCase {
    std::string name;
    std::string bytes;
    unsigned status = 0;
    std::string summary;
};

inline constexpr unsigned incomplete = 1;

/// An HTTP/1.1 GET with a Host and these further header lines.
inline std::string getWith(const std::string& lines) {
    return "GET / HTTP/1.1\r\nHost: a.example\r\n" + lines + "\r\n";
}
inline std::string postWith(const std::string& lines) {
    return "POST / HTTP/1.1\r\nHost: a.example\r\n" + lines + "\r\n";
}
inline std::string withHost(const std::string& host) {
    return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}
inline std::string withTarget(const std::string& method, const std::string& target) {
    return method + " " + target + " HTTP/1.1\r\nHost: a.example\r\n\r\n";
}
inline std::string requestLine(const std::string& line) {
    return line + "\r\nHost: a.example\r\n\r\n";
}

inline std::vector<RequestCase> acceptedRequests() {
    const std::string plain = "GET / 1.1 origin none keep";
    const std::string chunked = "POST / 1.1 origin chunked keep";
    std::vector<RequestCase> cases{
        {"plain", getWith(""), 0, plain},
        {"benchmark client",
         "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\nAccept: */*\r\n"
         "User-Agent: wrk/4.2.0\r\n\r\n",
         0, "GET /plaintext 1.1 origin none keep"},
        {"one empty line before", "\r\n" + getWith(""), 0, plain},
        {"bytes of the next request behind", getWith("") + "GET /next HTTP", 0, plain},
        {"HEAD", withTarget("HEAD", "/"), 0, "HEAD / 1.1 origin none keep"},
        {"POST without body headers", postWith(""), 0, "POST / 1.1 origin none keep"},
        {"PUT", withTarget("PUT", "/a"), 0, "PUT /a 1.1 origin none keep"},
        {"DELETE", withTarget("DELETE", "/a"), 0, "DELETE /a 1.1 origin none keep"},
        {"PATCH", withTarget("PATCH", "/a"), 0, "PATCH /a 1.1 origin none keep"},
        {"TRACE", withTarget("TRACE", "/a"), 0, "TRACE /a 1.1 origin none keep"},
        {"unknown method", withTarget("BREW", "/pot"), 0, "BREW? /pot 1.1 origin none keep"},
        {"lower-case method is another method", withTarget("get", "/"), 0, "get? / 1.1 origin none keep"},
        {"method of every token character", withTarget("!#$%&'*+-.^_`|~09aZ", "/"), 0,
         "!#$%&'*+-.^_`|~09aZ? / 1.1 origin none keep"},
        {"one-letter method", withTarget("G", "/"), 0, "G? / 1.1 origin none keep"},
        {"query", withTarget("GET", "/a/b?c=d&e=%20"), 0, "GET /a/b?c=d&e=%20 1.1 origin none keep"},
        {"two slashes", withTarget("GET", "//a"), 0, "GET //a 1.1 origin none keep"},
        {"absolute target", withTarget("GET", "http://b.example/x"), 0,
         "GET http://b.example/x 1.1 absolute none keep authority=b.example"},
        {"absolute target without path", withTarget("GET", "http://b.example:80"), 0,
         "GET http://b.example:80 1.1 absolute none keep authority=b.example:80"},
        {"absolute target with query only", withTarget("GET", "http://b.example?q"), 0,
         "GET http://b.example?q 1.1 absolute none keep authority=b.example"},
        {"OPTIONS asterisk", withTarget("OPTIONS", "*"), 0, "OPTIONS * 1.1 asterisk none keep"},
        {"OPTIONS path", withTarget("OPTIONS", "/"), 0, "OPTIONS / 1.1 origin none keep"},
        {"CONNECT", "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", 0,
         "CONNECT b.example:443 1.1 authority none keep authority=b.example:443"},
        {"CONNECT to IPv6", "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n", 0,
         "CONNECT [::1]:443 1.1 authority none keep authority=[::1]:443"},
        {"HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 0, "GET / 1.0 origin none close nohost"},
        {"HTTP/1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 0,
         "GET / 1.0 origin none keep nohost"},
        {"HTTP/1.0 with length", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\n", 0,
         "POST / 1.0 origin length=3 close nohost"},
        {"later minor version", requestLine("GET / HTTP/1.2"), 0, plain},
        {"minor version 9", requestLine("GET / HTTP/1.9"), 0, plain},
        {"close", getWith("Connection: close\r\n"), 0, "GET / 1.1 origin none close"},
        {"close in capitals", getWith("CONNECTION: CLOSE\r\n"), 0, "GET / 1.1 origin none close"},
        {"close wins in a list", getWith("Connection: keep-alive, close\r\n"), 0, "GET / 1.1 origin none close"},
        {"close wins over a second field", getWith("Connection: close\r\nConnection: keep-alive\r\n"), 0,
         "GET / 1.1 origin none close"},
        {"close among empty members", getWith("Connection: , ,close,\r\n"), 0, "GET / 1.1 origin none close"},
        {"an option that only contains close", getWith("Connection: closely\r\n"), 0, plain},
        {"upgrade", getWith("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"), 0,
         "GET / 1.1 origin none keep upgrade"},
        {"Upgrade without the option", getWith("Upgrade: websocket\r\n"), 0, plain},
        {"upgrade in HTTP/1.0 is ignored", "GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 0,
         "GET / 1.0 origin none close nohost"},
        {"length", postWith("Content-Length: 5\r\n"), 0, "POST / 1.1 origin length=5 keep"},
        {"length 0", postWith("Content-Length: 0\r\n"), 0, "POST / 1.1 origin length=0 keep"},
        {"length with blanks around", postWith("Content-Length: \t 5 \t\r\n"), 0, "POST / 1.1 origin length=5 keep"},
        {"largest length", postWith("Content-Length: 9223372036854775807\r\n"), 0,
         "POST / 1.1 origin length=9223372036854775807 keep"},
        {"length of a GET", getWith("content-length: 5\r\n"), 0, "GET / 1.1 origin length=5 keep"},
        {"CONNECT with length 0", "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nContent-Length: 0\r\n\r\n", 0,
         "CONNECT b:1 1.1 authority length=0 keep authority=b:1"},
        {"chunked", postWith("Transfer-Encoding: chunked\r\n"), 0, chunked},
        {"chunked in any case", postWith("tRANSFER-eNCODING: ChUnKeD\r\n"), 0, chunked},
        {"chunked with blanks around", postWith("Transfer-Encoding:\t chunked \r\n"), 0, chunked},
        {"chunked without blank", postWith("Transfer-Encoding:chunked\r\n"), 0, chunked},
        {"names one letter off", postWith("Content-Lengti: 1\r\nTransfer-Encodinh: x\r\nHosu: b\r\nExpecu: x\r\n"), 0,
         "POST / 1.1 origin none keep"},
        {"underscore instead of hyphen", postWith("Content_Length: 5\r\nTransfer_Encoding: chunked\r\n"), 0,
         "POST / 1.1 origin none keep"},
        {"expect", postWith("Content-Length: 5\r\nExpect: 100-Continue\r\n"), 0,
         "POST / 1.1 origin length=5 keep expect"},
        {"expect without body", getWith("Expect: 100-continue\r\n"), 0, plain},
        {"unknown expectation", getWith("Expect: 200-ok\r\n"), 0, plain + " expect?"},
        {"empty value", getWith("X:\r\n"), 0, plain},
        {"value of blanks", getWith("X: \t \r\n"), 0, plain},
        {"no blank after the colon", getWith("X:y\r\n"), 0, plain},
        {"HTAB inside a value", getWith("X: a\tb\r\n"), 0, plain},
        {"obs-text in a value", getWith("X: caf\xc3\xa9 \xff\x80\r\n"), 0, plain},
        {"colons in a value", getWith("X: a:b::c\r\n"), 0, plain},
        {"name of every token character", getWith("!#$%&'*+-.^_`|~09aZ: 1\r\n"), 0, plain},
        {"name of 16 letters", getWith("Abcdefghijklmnop: 1\r\n"), 0, plain},
        {"name of 40 letters", getWith("Abcdefghijklmnopabcdefghijklmnopabcdefgh: 1\r\n"), 0, plain},
        {"one-letter lines", getWith("A: 1\r\nB: 2\r\nC: 3\r\n"), 0, plain},
        {"long value", getWith("Cookie: " + std::string(3000, 'c') + "\r\n"), 0, plain},
        {"33 headers", getWith([] {
             std::string lines;
             for (int i = 0; i < 32; ++i) lines += "X-" + std::to_string(i) + ": " + std::to_string(i) + "\r\n";
             return lines;
         }()),
         0, plain},
        {"128 headers", getWith([] {
             std::string lines;
             for (int i = 0; i < 127; ++i) lines += "X: y\r\n";
             return lines;
         }()),
         0, plain},
        {"request line of 8192", requestLine("GET /" + std::string(8192 - 14, 'a') + " HTTP/1.1"), 0, "*"},
        {"header section of 16384", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(16384 - 9 - 5, 'x') + "\r\n\r\n",
         0, plain},
        {"empty Host of OPTIONS asterisk", "OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n", 0,
         "OPTIONS * 1.1 asterisk none keep"},
    };
    for (const char* host : {"a", "a.example", "a.example:80", "A-b.Example.:8080", "127.0.0.1", "127.0.0.1:8080",
                             "[::1]", "[2001:db8::7]:443", "a_b", "%41.example", "localhost:", "a.example:65535",
                             "a!$&'()*+;=~", "a-quite-long-name-of-a-host.example.com:12345"})
        cases.push_back({std::string("Host ") + host, withHost(host), 0, plain});
    return cases;
}

inline std::vector<RequestCase> refusedRequests() {
    using namespace std::string_literals;
    std::vector<RequestCase> cases{
        // line ends
        {"bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400, ""},
        {"bare LF after a header", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400, ""},
        {"bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400, ""},
        {"all bare LF", "GET / HTTP/1.1\nHost: a\n\n", 400, ""},
        {"bare CR after the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n", 400, ""},
        {"bare CR in a value", getWith("X: a\rb\r\n"), 400, ""},
        {"bare CR in a name", getWith("X\rY: b\r\n"), 400, ""},
        {"CR CR LF", getWith("X: a\r\r\n"), 400, ""},
        {"CR alone as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\rX", 400, ""},
        {"bare CR before a hidden header", getWith("X: a\rTransfer-Encoding: chunked\r\n"), 400, ""},
        {"two empty lines before", "\r\n\r\n" + getWith(""), 400, ""},
        {"header lines behind two empty lines", "\r\n\r\nHost: a\r\n\r\n", 400, ""},
        {"LF before", "\n" + getWith(""), 400, ""},
        {"CR before", "\r" + getWith(""), 400, ""},
        {"blank before", " " + getWith(""), 400, ""},
        // request line
        {"no version", "GET /\r\n\r\n", 400, ""},
        {"method only", "GET\r\n\r\n", 400, ""},
        {"no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", 400, ""},
        {"two SP after the method", requestLine("GET  / HTTP/1.1"), 400, ""},
        {"two SP before the version", requestLine("GET /  HTTP/1.1"), 400, ""},
        {"HTAB as separator", requestLine("GET\t/ HTTP/1.1"), 400, ""},
        {"HTAB before the version", requestLine("GET /\tHTTP/1.1"), 400, ""},
        {"blank after the version", requestLine("GET / HTTP/1.1 "), 400, ""},
        {"four parts", requestLine("GET / x HTTP/1.1"), 400, ""},
        {"method with parenthesis", requestLine("GE(T / HTTP/1.1"), 400, ""},
        {"method with colon", requestLine("GET: / HTTP/1.1"), 400, ""},
        {"method with obs-text", requestLine("G\xc3\x89T / HTTP/1.1"), 400, ""},
        {"empty method", requestLine(" / HTTP/1.1"), 400, ""},
        {"TLS client hello", "\x16\x03\x01\x02\x00\x01"s, 400, ""},
        {"NUL in the request line", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, ""},
        {"DEL in the target", requestLine("GET /\x7f HTTP/1.1"), 400, ""},
        {"obs-text in the target", requestLine("GET /\xc3\xa9 HTTP/1.1"), 400, ""},
        {"fragment", requestLine("GET /a#b HTTP/1.1"), 400, ""},
        {"fragment only", requestLine("GET # HTTP/1.1"), 400, ""},
        {"relative target", requestLine("GET a HTTP/1.1"), 400, ""},
        {"target is a query", requestLine("GET ?a HTTP/1.1"), 400, ""},
        {"asterisk with GET", requestLine("GET * HTTP/1.1"), 400, ""},
        {"asterisk and more", requestLine("OPTIONS *a HTTP/1.1"), 400, ""},
        {"authority with GET", requestLine("GET a.example:80 HTTP/1.1"), 400, ""},
        {"CONNECT with a path", requestLine("CONNECT / HTTP/1.1"), 400, ""},
        {"CONNECT without port", requestLine("CONNECT a.example HTTP/1.1"), 400, ""},
        {"CONNECT with empty port", requestLine("CONNECT a.example: HTTP/1.1"), 400, ""},
        {"CONNECT to IPv6 without port", requestLine("CONNECT [::1] HTTP/1.1"), 400, ""},
        {"CONNECT absolute", requestLine("CONNECT http://a.example:80 HTTP/1.1"), 400, ""},
        {"absolute target without host", requestLine("GET http:///a HTTP/1.1"), 400, ""},
        {"absolute target with user", requestLine("GET http://u@a.example/ HTTP/1.1"), 400, ""},
        {"absolute target with bad port", requestLine("GET http://a:99999/ HTTP/1.1"), 400, ""},
        {"absolute target with one slash", requestLine("GET http:/a HTTP/1.1"), 400, ""},
        {"absolute target with bad scheme", requestLine("GET 1http://a/ HTTP/1.1"), 400, ""},
        {"absolute target without Host", "GET http://a/ HTTP/1.1\r\n\r\n", 400, ""},
        {"lower-case protocol name", requestLine("GET / http/1.1"), 400, ""},
        {"version without minor", requestLine("GET / HTTP/1"), 400, ""},
        {"version with two-digit minor", requestLine("GET / HTTP/1.10"), 400, ""},
        {"version with leading zero", requestLine("GET / HTTP/01.1"), 400, ""},
        {"version with comma", requestLine("GET / HTTP/1,1"), 400, ""},
        {"version with blank", requestLine("GET / HTTP/ 1.1"), 400, ""},
        {"version with sign", requestLine("GET / HTTP/-1.1"), 400, ""},
        {"version with letters", requestLine("GET / HTTP/x.y"), 400, ""},
        {"other protocol", requestLine("GET / ICAP/1.0"), 400, ""},
        {"HTTP/2.0", requestLine("GET / HTTP/2.0"), 505, ""},
        {"HTTP/0.9", requestLine("GET / HTTP/0.9"), 505, ""},
        {"HTTP/3.1", requestLine("GET / HTTP/3.1"), 505, ""},
        {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, ""},
        {"request line of 8193", requestLine("GET /" + std::string(8193 - 14, 'a') + " HTTP/1.1"), 414, ""},
        {"endless target", "GET /" + std::string(9000, 'G'), 414, ""},
        {"bad and too long", "( " + std::string(9000, 'G') + "\r\n", 414, ""},
        {"endless method", std::string(9000, 'G'), 501, ""},
        {"endless method behind an empty line", "\r\n" + std::string(9000, 'G'), 501, ""},
        {"method of 8193", std::string(8193, 'G') + " / HTTP/1.1\r\n", 501, ""},
        {"method of 8192", std::string(8192, 'G') + " / HTTP/1.1\r\n", 501, ""},
        {"method of 8191", std::string(8191, 'G') + " / HTTP/1.1\r\n", 414, ""},
        // header lines
        {"folded value", getWith("X: a\r\n b\r\n"), 400, ""},
        {"folded with HTAB", getWith("X: a\r\n\tb\r\n"), 400, ""},
        {"first header line begins with a blank", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, ""},
        {"line of one blank", getWith(" \r\n"), 400, ""},
        {"blank before the colon", getWith("X : a\r\n"), 400, ""},
        {"HTAB before the colon", getWith("X\t: a\r\n"), 400, ""},
        {"blank inside a name", getWith("X Y: a\r\n"), 400, ""},
        {"no colon", getWith("Garbage\r\n"), 400, ""},
        {"empty name", getWith(": a\r\n"), 400, ""},
        {"name with parenthesis", getWith("X(: a\r\n"), 400, ""},
        {"name with slash", getWith("X/Y: a\r\n"), 400, ""},
        {"name with obs-text", getWith("X\xe9: a\r\n"), 400, ""},
        {"name with brackets", getWith("[X]: a\r\n"), 400, ""},
        {"name with at sign", getWith("@X: a\r\n"), 400, ""},
        {"name in quotes", getWith("\"X\": a\r\n"), 400, ""},
        {"NUL in a name", getWith("X\0Y: a\r\n"s), 400, ""},
        {"NUL in a value", getWith("X: a\0b\r\n"s), 400, ""},
        {"ESC in a value", getWith("X: a\x1b[0m\r\n"), 400, ""},
        {"BEL in a value", getWith("X: \x07\r\n"), 400, ""},
        {"vertical tab before a value",
         postWith("Transfer-Encoding: \x0b"
                  "chunked\r\n"),
         400, ""},
        {"form feed after a value", postWith("Transfer-Encoding: chunked\x0c\r\n"), 400, ""},
        {"DEL in a value", getWith("X: a\x7f\r\n"), 400, ""},
        {"129 headers", getWith([] {
             std::string lines;
             for (int i = 0; i < 128; ++i) lines += "X: y\r\n";
             return lines;
         }()),
         431, ""},
        {"header section of 16385", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(16385 - 9 - 5, 'x') + "\r\n\r\n",
         431, ""},
        {"endless header", "GET / HTTP/1.1\r\nX: " + std::string(17000, 'x'), 431, ""},
        {"endless header name", "GET / HTTP/1.1\r\n" + std::string(17000, 'x'), 431, ""},
        {"bad and too large", "GET / HTTP/1.1\r\nX: " + std::string(17000, 'x') + "\r\n : \r\n\r\n", 431, ""},
        {"second Host beyond the limit", getWith("X: " + std::string(16370, 'x') + "\r\nHost: b\r\n"), 431, ""},
        {"empty name before other lines", getWith(": a\r\nX-Forwarded-For: 127.0.0.1\r\n"), 400, ""},
        {"empty name and coding", postWith(":Transfer-Encoding: chunked\r\nX-Forwarded-For: 127.0.0.1\r\n"), 400, ""},
        // Host
        {"no Host", "GET / HTTP/1.1\r\n\r\n", 400, ""},
        {"no Host in HTTP/1.2", "GET / HTTP/1.2\r\nX: y\r\n\r\n", 400, ""},
        {"two Hosts", getWith("Host: b.example\r\n"), 400, ""},
        {"two equal Hosts", getWith("hOST: a.example\r\n"), 400, ""},
        {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400, ""},
        // Content-Length
        {"two lengths", postWith("Content-Length: 5\r\nContent-Length: 6\r\n"), 400, ""},
        {"two equal lengths", postWith("Content-Length: 5\r\nContent-Length: 5\r\n"), 400, ""},
        // Transfer-Encoding
        {"length and chunked", postWith("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400, ""},
        {"chunked and length", postWith("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400, ""},
        {"chunked and length 0", postWith("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), 400, ""},
        {"length and unknown coding", postWith("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), 400, ""},
        {"two Transfer-Encodings", postWith("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400, ""},
        {"chunked, then a second field", postWith("Transfer-Encoding: chunked\r\nTransfer-encoding: x\r\n"), 400, ""},
        {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, ""},
        {"unknown coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: gzip\r\n\r\n", 400, ""},
        {"hidden by a blank before the colon", postWith("Content-Length: 5\r\nTransfer-Encoding : chunked\r\n"), 400,
         ""},
        {"hidden by folding", postWith("Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n"), 400, ""},
        {"hidden by a leading blank", postWith("Content-Length: 5\r\n Transfer-Encoding: chunked\r\n"), 400, ""},
        {"hidden by a bare LF", postWith("X: y\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400, ""},
        {"CONNECT with length", "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nContent-Length: 5\r\n\r\n", 400, ""},
        {"CONNECT with chunks", "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, ""},
    };
    for (const char* host :
         {"",        " \t",  "a b",   "a,b",     "a/b",      "a?b", "a@b",  "u:p@a",    "a:b",
          "a:80:80", "a:-1", "a:+80", "a:65536", "a:123456", ":80", "[::1", "::1",      "[::1]x",
          "[g::1]",  "[]",   "[:]",   "a\\b",    "<a>",      "a\"", "a#b",  "http://a", "\xc3\xa9.example",
          "a%4",     "%zz",  "{a}",   "a|b",     "a:8 0"})
        cases.push_back({"Host '" + std::string(host) + "'", withHost(host), 400, ""});
    for (const char* length : {"",
                               "+5",
                               "-5",
                               "-0",
                               "5,5",
                               "5, 5",
                               "5,6",
                               ",5",
                               "5,",
                               "5 5",
                               "0x5",
                               "5h",
                               "5.0",
                               "1e3",
                               "05",
                               "00",
                               "9223372036854775808",
                               "18446744073709551616",
                               "99999999999999999999999999",
                               "\"5\"",
                               "'5'",
                               "5;",
                               "\xd9\xa3",
                               "_5",
                               "1_0",
                               "(5)"})
        cases.push_back({"length '" + std::string(length) + "'",
                         postWith("Content-Length: " + std::string(length) + "\r\n"), 400, ""});
    for (const char* coding :
         {"", ",", "chunked,", ",chunked", "chunked, chunked", "chunked,chunked", "chunked, gzip", "chunked, identity",
          "gzip, chunked, chunked", "chunked;q=1", "chunked ;x", "chunked chunked", "chunked\t chunked", "\"chunked\"",
          "[chunked]", "chun ked", "chunked;", "gzip,,chunked", "=chunked", "chunked\xff",
          "\xa0"
          "chunked",
          // RFC 9112, 6.3: chunked must come last
          "gzip", "identity", "deflate", "xchunked", "chunkedx", "chunke", "gzip;q=0.5", "x-gzip, deflate", "'chunked'",
          "cow"})
        cases.push_back({"coding '" + std::string(coding) + "'",
                         postWith("Transfer-Encoding: " + std::string(coding) + "\r\n"), 400, ""});
    for (const char* coding :
         {"gzip, chunked", "compress , chunked", "identity,chunked", "gzip;q=0.5, deflate, Chunked"})
        cases.push_back({"coding '" + std::string(coding) + "'",
                         postWith("Transfer-Encoding: " + std::string(coding) + "\r\n"), 501, ""});
    return cases;
}

inline std::vector<RequestCase> incompleteRequests() {
    return {
        {"nothing", "", incomplete, ""},
        {"one letter", "G", incomplete, ""},
        {"lone CR", "\r", incomplete, ""},
        {"empty line only", "\r\n", incomplete, ""},
        {"request line without LF", "GET / HTTP/1.1\r", incomplete, ""},
        {"request line only", "GET / HTTP/1.1\r\n", incomplete, ""},
        {"header without LF", "GET / HTTP/1.1\r\nHost: a\r", incomplete, ""},
        {"empty line without LF", "GET / HTTP/1.1\r\nHost: a\r\n\r", incomplete, ""},
        {"middle of a name", "GET / HTTP/1.1\r\nHo", incomplete, ""},
        {"middle of a wrong line", "GET / HTTP/1.1\r\nHo st", incomplete, ""},
        {"request line of 8192 without its end", std::string(8192, 'G'), incomplete, ""},
    };
}

inline std::vector<RequestCase> allRequests() {
    std::vector<RequestCase> all = acceptedRequests();
    for (auto& more : {refusedRequests(), incompleteRequests()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace weft::http::test
