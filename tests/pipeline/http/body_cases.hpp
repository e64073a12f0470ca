// A table of chunked bodies, each with its required outcome, for the tests of the decoder and of whole servers.
// Plain data: depends on no decoder.
#pragma once

#include <string>
#include <vector>

namespace weft::http::test {

struct BodyCase {
    std::string name;
    std::string bytes;
    std::string outcome;  // "end" or "needMore", followed by the data; or the status of the refusal
};

inline std::vector<BodyCase> chunkedBodies() {
    using namespace std::string_literals;
    std::vector<BodyCase> cases{
        {"empty", "0\r\n\r\n", "end "},
        {"one chunk", "5\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "end hello world"},
        {"next request behind", "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "end a consumed=11"},
        {"capital digits", "A\r\n0123456789\r\n0\r\n\r\n", "end 0123456789"},
        {"small digits", "a\r\n0123456789\r\n0\r\n\r\n", "end 0123456789"},
        {"leading zeros", "0005\r\nhello\r\n000\r\n\r\n", "end hello"},
        {"line ends as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "end \r\n\r\n"},
        {"extension", "5;a\r\nhello\r\n0;b=c\r\n\r\n", "end hello"},
        {"quoted extension", "5;a=\"x;y\\\"\t \xe9\"\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"empty quoted extension", "5;a=\"\"\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"several extensions", "5;a;b=c;d=\"e\";f\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"bad white space that leads to something", "5 ; a = b\t;\tc\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"trailer", "0\r\nX-Sum:  abc \r\n\r\n", "end  consumed=19 X-Sum=abc"},
        {"two trailers", "1\r\na\r\n0\r\nA: 1\r\nB:\r\n\r\n", "end a consumed=21 A=1 B="},
        {"unfinished size", "5", "needMore "},
        {"unfinished data", "5\r\nhel", "needMore hel"},
        {"unfinished end", "0\r\n\r", "needMore "},
        {"unfinished wrong trailer", "0\r\nbad", "needMore "},

        {"empty size", "\r\n\r\n", "400 bad chunk size"},
        {"size of an extension only", ";a\r\n", "400 bad chunk size"},
        {"plus sign", "+5\r\nhello\r\n", "400 bad chunk size"},
        {"minus sign", "-5\r\nhello\r\n", "400 bad chunk size"},
        {"0x", "0x5\r\nhello\r\n", "400 bad chunk size"},
        {"no digit", "g\r\n", "400 bad chunk size"},
        {"digit and letter", "5g\r\n", "400 bad chunk size"},
        {"underscore", "1_0\r\n", "400 bad chunk size"},
        {"comma", "5,5\r\n", "400 bad chunk size"},
        {"blank before", " 5\r\nhello\r\n", "400 bad chunk size"},
        {"HTAB before", "\t5\r\nhello\r\n", "400 bad chunk size"},
        {"blank after", "5 \r\nhello\r\n", "400 bad chunk extension"},
        {"HTAB after", "5\t\r\nhello\r\n", "400 bad chunk extension"},
        {"blank inside", "5 0\r\n", "400 bad chunk extension"},
        {"NUL after", "5\0\r\n"s, "400 bad chunk size"},
        {"overflow by one digit", "10000000000000000\r\n", "400 chunk size too large"},
        {"overflow into the sign", "8000000000000000\r\n", "400 chunk size too large"},
        {"overflow of 32 bits is kept", "100000000\r\nx", "needMore x"},
        {"bare LF after size", "5\nhello\r\n0\r\n\r\n", "400 bad chunk size"},
        {"bare CR after size", "5\rhello\r\n0\r\n\r\n", "400 CR without LF"},
        {"CR CR LF after size", "5\r\r\nhello\r\n", "400 CR without LF"},
        {"data too long", "3\r\nhello\r\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"data too short", "6\r\nhello\r\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"LF after data", "5\r\nhello\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"CR after data", "5\r\nhello\r0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"another byte and LF after data", "5\r\nhelloX\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"CR and another byte after data", "5\r\nhello\rX0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"nothing after data", "5\r\nhello0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"extra line after data", "5\r\nhello\r\n\r\n0\r\n\r\n", "400 bad chunk size"},
        {"extension without name", "5;\r\n", "400 bad chunk extension"},
        {"extension with empty name", "5;;a\r\n", "400 bad chunk extension"},
        {"extension with value only", "5;=a\r\n", "400 bad chunk extension"},
        {"extension with empty value", "5;a=\r\n", "400 bad chunk extension"},
        {"extension with bad name", "5;a@b\r\n", "400 bad chunk extension"},
        {"extension with bad value", "5;a=b(c\r\n", "400 bad chunk extension"},
        {"extension with blank at the end", "5;a \r\n", "400 bad chunk extension"},
        {"extension value with blank at the end", "5;a=b \r\n", "400 bad chunk extension"},
        {"extension with two values", "5;a=b c\r\n", "400 bad chunk extension"},
        {"bare LF in an extension", "5;a\nhello\r\n", "400 bad chunk extension"},
        {"bare CR in an extension", "5;a\rb\r\n", "400 CR without LF"},
        {"line end in quotes", "5;a=\"\r\n\"\r\n", "400 bad chunk extension"},
        {"LF in quotes", "5;a=\"\n\"\r\n", "400 bad chunk extension"},
        {"escaped LF in quotes", "5;a=\"\\\n\"\r\n", "400 bad chunk extension"},
        {"text after quotes", "5;a=\"b\"c\r\n", "400 bad chunk extension"},
        {"open quotes", "5;a=\"b\r\n", "400 bad chunk extension"},
        {"long size line", "5;" + std::string(254, 'a') + "\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"too long size line", "5;" + std::string(255, 'a') + "\r\nhello\r\n0\r\n\r\n", "400 chunk-size line too long"},
        {"endless zeros", std::string(300, '0'), "400 chunk-size line too long"},

        {"trailer without colon", "0\r\nbad\r\n\r\n", "400 header line without a colon"},
        {"trailer with blank before the colon", "0\r\nX : y\r\n\r\n", "400 white space between header name and colon"},
        {"folded trailer", "0\r\nX: y\r\n z\r\n\r\n", "400 header line begins with white space"},
        {"trailer with bare LF", "0\r\nX: y\n\r\n", "400 a line ends with LF without CR"},
        {"trailer with bare CR", "0\r\nX: y\rz\r\n\r\n", "400 CR without LF"},
        {"trailer with NUL", "0\r\nX: \0\r\n\r\n"s, "400 control character"},
        {"bare LF as the end", "0\r\n\n", "400 a line ends with LF without CR"},
        {"bare LF after the last size", "0\n\r\n", "400 bad chunk size"},
        {"trailers too large", "0\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", "431 trailer section too large"},
        {"too many trailers",
         "0\r\n" +
             [] {
                 std::string lines;
                 for (int i = 0; i < 129; ++i) lines += "X: y\r\n";
                 return lines;
             }() +
             "\r\n",
         "431 too many trailers"},
        {"request as trailers", "0\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n", "400 header line without a colon"},
    };
    for (const char* name :
         {"Content-Length", "content-length", "TRANSFER-ENCODING", "Host", "Connection", "Expect", "TE", "Trailer",
          "Upgrade", "Authorization", "Cookie", "Set-Cookie", "Content-Type", "Content-Encoding"})
        cases.push_back(
            {std::string("trailer ") + name, "0\r\n" + std::string(name) + ": 1\r\n\r\n", "400 forbidden trailer"});
    std::string flood;
    for (int i = 0; i < 100; ++i) flood += "1;" + std::string(200, 'e') + "\r\nx\r\n";
    cases.push_back({"flood of extensions", flood, "400 too many bytes of chunk extensions"});
    return cases;
}

}  // namespace weft::http::test
