// A table of responses, each with its required outcome, for the tests of the decoder and of the client codec, and for
// fuzz corpora. Plain data: depends on no parser.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/http/method.hpp>

namespace weft::http::test {

// `outcome`: "CODE keep|close|switch none|length=N|chunked|untilClose [BODY]", preceded by the interim codes and
// followed by the trailers; "more" for an incomplete response; else how its refusal begins.
struct ResponseCase {
    std::string name;
    std::string bytes;
    std::string outcome;
    std::size_t rest = 0;  // bytes after the response
    Method method = Method::get;
    bool mayUpgrade = false;
};

inline std::string okWith(const std::string& lines, const std::string& body = "") {
    return "HTTP/1.1 200 OK\r\n" + lines + "\r\n" + body;
}

inline std::vector<ResponseCase> acceptedResponses() {
    const std::string two = "Content-Length: 2\r\n";
    const std::string chunks = "Transfer-Encoding: chunked\r\n";
    const std::string upgrade = "Connection: upgrade\r\nUpgrade: x\r\n";
    return {
        {"length", okWith(two, "ab"), "200 keep length=2 [ab]"},
        {"length 0", okWith("Content-Length: 0\r\n"), "200 keep length=0 []"},
        {"bytes behind it", okWith(two, "abHTTP/1.1"), "200 keep length=2 [ab]", 8},
        {"chunked", okWith(chunks, "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"), "200 keep chunked [abc]"},
        {"chunked in any case", okWith("TRANSFER-encoding: Chunked\r\n", "0\r\n\r\n"), "200 keep chunked []"},
        {"trailers", okWith(chunks, "1\r\na\r\n0\r\nX-Sum: 1\r\n\r\nrest"), "200 keep chunked [a] X-Sum=1", 4},
        {"until close", okWith("", "abc"), "200 close untilClose [abc]"},
        {"until close, empty", okWith(""), "200 close untilClose []"},
        {"until close of HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nabc", "200 close untilClose [abc]"},
        {"204", "HTTP/1.1 204 No Content\r\n\r\n", "204 keep none []"},
        {"204 with a length", "HTTP/1.1 204 No Content\r\n" + two + "\r\nHT", "204 keep none []", 2},
        {"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 keep none []"},
        {"304 chunked", "HTTP/1.1 304 Not Modified\r\n" + chunks + "\r\n", "304 keep none []"},
        {"HEAD with a length", okWith(two, "HT"), "200 keep none []", 2, Method::head},
        {"HEAD chunked", okWith(chunks), "200 keep none []", 0, Method::head},
        {"HEAD without framing", okWith(""), "200 keep none []", 0, Method::head},
        {"HEAD 404", "HTTP/1.1 404 Not Found\r\n" + two + "\r\n", "404 keep none []", 0, Method::head},
        {"tunnel", okWith("", "raw"), "200 switch none []", 3, Method::connect},
        {"tunnel with framing to be ignored", okWith(two, "raw"), "200 switch none []", 3, Method::connect},
        {"refused tunnel", "HTTP/1.1 403 No\r\n" + two + "\r\nab", "403 keep length=2 [ab]", 0, Method::connect},
        {"upgrade", "HTTP/1.1 101 Switching Protocols\r\n" + upgrade + "\r\nraw", "101 switch none []", 3, Method::get,
         true},
        {"upgrade refused", okWith(two, "ab"), "200 keep length=2 [ab]", 0, Method::get, true},
        {"100 before", "HTTP/1.1 100 Continue\r\n\r\n" + okWith(two, "ab"), "100 200 keep length=2 [ab]"},
        {"several interim ones",
         "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
         "102 103 204 keep none []"},
        {"interim with a length", "HTTP/1.1 100 C\r\n" + two + "\r\n" + okWith(two, "ab"),
         "100 200 keep length=2 [ab]"},
        {"interim before a HEAD's", "HTTP/1.1 103 E\r\n\r\n" + okWith(two), "103 200 keep none []", 0, Method::head},
        {"close", okWith("Connection: close\r\n" + two, "ab"), "200 close length=2 [ab]"},
        {"close in a list", okWith("Connection: x, Close\r\n" + two, "ab"), "200 close length=2 [ab]"},
        {"an option that begins with close", okWith("Connection: close-not\r\n" + two, "ab"), "200 keep length=2 [ab]"},
        {"HTTP/1.0", "HTTP/1.0 200 OK\r\n" + two + "\r\nab", "200 close length=2 [ab]"},
        {"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + two + "\r\nab",
         "200 keep length=2 [ab]"},
        {"HTTP/1.9", "HTTP/1.9 200 OK\r\n" + two + "\r\nab", "200 keep length=2 [ab]"},
        {"no reason", "HTTP/1.1 200\r\n" + two + "\r\nab", "200 keep length=2 [ab]"},
        {"empty reason", "HTTP/1.1 200 \r\n" + two + "\r\nab", "200 keep length=2 [ab]"},
        {"reason of any text", "HTTP/1.1 200 \t a  b \xe9\r\n" + two + "\r\nab", "200 keep length=2 [ab]"},
        {"code without a name", "HTTP/1.1 799 x\r\n" + two + "\r\nab", "799 keep length=2 [ab]"},
        {"values with blanks around", okWith("Content-Length: \t 2 \r\nX:\t a\tb \xff \r\nY:\r\n", "ab"),
         "200 keep length=2 [ab]"},
        {"40 headers",
         okWith(
             two +
                 [] {
                     std::string lines;
                     for (int i = 0; i < 40; ++i) lines += "X-" + std::to_string(i) + ": y\r\n";
                     return lines;
                 }(),
             "ab"),
         "200 keep length=2 [ab]"},
    };
}

inline std::vector<ResponseCase> refusedResponses() {
    using namespace std::string_literals;
    const std::string two = "Content-Length: 2\r\n";
    std::vector<ResponseCase> cases{
        {"another protocol", "SSH-2.0-OpenSSH\r\n", "the response does not begin with HTTP/"},
        {"another protocol, three bytes of it", "ICY", "the response does not begin with HTTP/"},
        {"lower-case protocol", "http/1.1 200 OK\r\n\r\n", "the response does not begin with HTTP/"},
        {"an empty line before", "\r\nHTTP/1.1 200 OK\r\n\r\n", "the response does not begin with HTTP/"},
        {"a blank before", " HTTP/1.1 200 OK\r\n\r\n", "the response does not begin with HTTP/"},
        {"HTTP/2", "HTTP/2 200 OK\r\n\r\n", "the status line is not"},
        {"HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", "HTTP major version is not 1"},
        {"101 without an Upgrade", "HTTP/1.1 101 Switching\r\n\r\n",
         "101 Switching Protocols in response to a request without Upgrade"},
        {"length and chunks", okWith(two + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
         "both Content-Length and Transfer-Encoding"},
        {"length and chunks of a 204", "HTTP/1.1 204 N\r\n" + two + "Transfer-Encoding: chunked\r\n\r\n",
         "both Content-Length and Transfer-Encoding"},
        {"chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "Transfer-Encoding in HTTP/1.0"},
        {"a bad chunk", okWith("Transfer-Encoding: chunked\r\n", "1\r\na\r\n-1\r\n"), "bad chunk size"},
        {"chunk data that are too long", okWith("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n"), "chunk data is not"},
        {"forbidden trailer", okWith("Transfer-Encoding: chunked\r\n", "0\r\nContent-Length: 1\r\n\r\n"),
         "forbidden trailer"},
        {"status line of 8193", "HTTP/1.1 200 " + std::string(8193 - 13, 'x') + "\r\n\r\n", "status line too long"},
        {"endless reason", "HTTP/1.1 200 " + std::string(9000, 'x'), "status line too long"},
        {"header section too large", okWith("X: " + std::string(16384, 'x') + "\r\n"), "header section too large"},
        {"129 headers", okWith([] {
             std::string lines;
             for (int i = 0; i < 129; ++i) lines += "X: y\r\n";
             return lines;
         }()),
         "too many headers"},
        {"a flood of interim heads",
         [] {
             std::string all;
             for (int i = 0; i < 2000; ++i) all += "HTTP/1.1 102 P\r\n\r\n";
             return all;
         }(),
         "interim responses too large"},
        {"NUL in a value", okWith("X: a\0b\r\n"s), "control character"},
        {"bare LF after the status line", "HTTP/1.1 200 OK\n\r\n", "a line ends with LF without CR"},
        {"bare LF after a header", okWith("X: a\nY: b\r\n"), "a line ends with LF without CR"},
        {"bare CR in a header", okWith("X: a\rY: b\r\n"), "CR without LF"},
        {"bare CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", "CR without LF"},
        {"folded header", okWith("X: a\r\n b\r\n"), "header line begins with white space"},
        {"blank before the colon", okWith("X : a\r\n"), "white space between header name and colon"},
        {"no colon", okWith("garbage\r\n"), "header line without a colon"},
        {"empty name", okWith(": a\r\n"), "empty header name"},
        {"name that is no token", okWith("(X): a\r\n"), "the header name is not a token"},
        {"DEL in a value", okWith("X: a\x7f\r\n"), "control character"},
        {"two lengths", okWith(two + two, "ab"), "more than one Content-Length"},
        {"two codings", okWith("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
         "more than one Transfer-Encoding"},
    };
    for (const char* line :
         {"HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK", "HTTP/1.1 099 Low", "HTTP/11 200 OK",
          "HTTP/1.1\t200 OK", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 -20 OK", "HTTP/1.1 200OK", "HTTP/x.1 200 OK",
          "HTTP/1,1 200 OK", "HTTP/1.10 200 OK", "HTTP/1.1 2 0 OK"}) {
        cases.push_back({"status line '" + std::string(line) + "'", std::string(line) + "\r\n" + two + "\r\nab",
                         "the status line is not"});
    }
    for (const char* length :
         {"", "+1", "-1", "1, 1", "1,1", "1 1", "0x1", "01", "99999999999999999999", "9223372036854775808"}) {
        cases.push_back({"length '" + std::string(length) + "'",
                         okWith("Content-Length: " + std::string(length) + "\r\n", "ab"), "bad Content-Length"});
    }
    for (const char* coding : {"identity", "gzip"}) {
        cases.push_back({"coding '" + std::string(coding) + "'",
                         okWith("Transfer-Encoding: " + std::string(coding) + "\r\n", "ab"),
                         "the last transfer coding is not chunked"});
    }
    cases.push_back({"gzip, chunked", okWith("Transfer-Encoding: gzip, chunked\r\n"), "unknown transfer coding"});
    cases.push_back({"chunked, chunked", okWith("Transfer-Encoding: chunked, chunked\r\n"), "bad Transfer-Encoding"});
    return cases;
}

inline std::vector<ResponseCase> incompleteResponses() {
    return {
        {"nothing", "", "more"},
        {"H", "H", "more"},
        {"protocol only", "HTTP/", "more"},
        {"status line without LF", "HTTP/1.1 200 OK\r", "more"},
        {"wrong status line without its end", "HTTP/1.1 what", "more"},
        {"status line only", "HTTP/1.1 200 OK\r\n", "more"},
        {"middle of a wrong header", "HTTP/1.1 200 OK\r\nX y", "more"},
        {"empty line without LF", "HTTP/1.1 200 OK\r\n\r", "more"},
        {"body of known length", okWith("Content-Length: 3\r\n", "ab"), "more"},
        {"chunks", okWith("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n"), "more"},
        {"trailers", okWith("Transfer-Encoding: chunked\r\n", "0\r\nX: y\r\n"), "more"},
        {"interim only", "HTTP/1.1 100 C\r\n\r\n", "more"},
        {"interim and a beginning", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 2", "more"},
    };
}

inline std::vector<ResponseCase> allResponses() {
    std::vector<ResponseCase> all = acceptedResponses();
    for (auto& more : {refusedResponses(), incompleteResponses()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace weft::http::test
