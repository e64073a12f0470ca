#include <weft/http/route_table.hpp>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::http {
namespace {

using Outcome = RouteTable::Outcome;

void nothing(ChannelHandlerContext&, FullRequest) {}

// A table of these patterns. A test tells routes apart by the parameters that their patterns capture.
RouteTable tableOf(std::initializer_list<std::string_view> patterns) {
    RouteTable table;
    for (const std::string_view pattern : patterns) table.get(pattern, nothing);
    return table;
}

std::string valueIn(const RouteTable& table, std::string_view path, std::string_view name) {
    return std::string(table.find(Method::get, path).parameters[name]);
}

TEST(RouteTable, LiteralPathsAreFoundAsTheyAre) {
    const RouteTable table = tableOf({"/", "/a", "/a/b", "/a/"});
    for (const std::string_view path : {"/", "/a", "/a/b", "/a/"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::found) << path;
    }
    for (const std::string_view path : {"/b", "/a/b/", "/A", "//", "/a//b", "", "a", "*", "example.com:443"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::noPath) << path;
    }
}

TEST(RouteTable, AnEscapedLiteralIsTheSamePath) {
    const RouteTable table = tableOf({"/fr\xC3\xBChling/x y"});
    EXPECT_EQ(table.find(Method::get, "/fr%C3%BChling/x%20y").outcome, Outcome::found);
    EXPECT_EQ(table.find(Method::get, "/fr%c3%bchling/%78%20y").outcome, Outcome::found);
}

TEST(RouteTable, AParameterIsOneSegmentDecodedAndNotEmpty) {
    const RouteTable table = tableOf({"/users/{id}/posts/{post}"});
    const auto match = table.find(Method::get, "/users/a%20b/posts/%7Bx%7D");
    ASSERT_EQ(match.outcome, Outcome::found);
    EXPECT_EQ(match.parameters.size(), 2u);
    EXPECT_EQ(match.parameters["id"], "a b");
    EXPECT_EQ(match.parameters["post"], "{x}");
    EXPECT_THROW(static_cast<void>(match.parameters["no"]), std::out_of_range);
    EXPECT_EQ(table.find(Method::get, "/users//posts/1").outcome, Outcome::noPath);
    EXPECT_EQ(table.find(Method::get, "/users/1/2/posts/1").outcome, Outcome::noPath);
}

TEST(RouteTable, ARestIsWhatIsLeftOfThePathAndMayBeEmpty) {
    const RouteTable table = tableOf({"/files/{path...}"});
    EXPECT_EQ(valueIn(table, "/files/a/b%20c/d", "path"), "a/b c/d");
    EXPECT_EQ(valueIn(table, "/files/", "path"), "");
    EXPECT_EQ(valueIn(table, "/files/a/b/", "path"), "a/b/");
    EXPECT_EQ(table.find(Method::get, "/files").outcome, Outcome::noPath);
}

TEST(RouteTable, LiteralTextPrecedesAParameterAndAParameterARestFromTheLeft) {
    const RouteTable table = tableOf({"/a/{x}", "/a/b", "/a/{rest...}", "/{y}/b/c", "/a/{z}/d"});
    EXPECT_EQ(table.find(Method::get, "/a/b").parameters.size(), 0u);
    EXPECT_EQ(valueIn(table, "/a/c", "x"), "c");
    EXPECT_EQ(valueIn(table, "/a/b/d", "z"), "b") << "the literal 'b' leads nowhere";
    EXPECT_EQ(valueIn(table, "/a/b/c", "rest"), "b/c") << "'a' precedes {y}";
    EXPECT_EQ(valueIn(table, "/q/b/c", "y"), "q");
}

TEST(RouteTable, APatternWithoutTheMethodGivesWayToTheNext) {
    RouteTable table;
    table.get("/a/b", nothing).post("/a/{x}", nothing).delete_("/{all...}", nothing);
    EXPECT_EQ(table.find(Method::post, "/a/b").parameters["x"], "b");
    EXPECT_EQ(table.find(Method::delete_, "/a/b").parameters["all"], "a/b");
    const auto match = table.find(Method::put, "/a/b");
    EXPECT_EQ(match.outcome, Outcome::noMethod);
    EXPECT_EQ(RouteTable::allow(match.methods), "GET, HEAD, POST, DELETE, OPTIONS");
    EXPECT_EQ(table.find(Method::other, "/a/b").outcome, Outcome::noMethod);
}

TEST(RouteTable, GetAnswersHeadUnlessHeadHasARoute) {
    RouteTable table;
    table.get("/a", nothing).get("/b", nothing).add(Method::head, "/b", nothing);
    const auto get = table.find(Method::get, "/a");
    EXPECT_EQ(table.find(Method::head, "/a").function, get.function);
    EXPECT_NE(table.find(Method::head, "/b").function, table.find(Method::get, "/b").function);
}

TEST(RouteTable, AMalformedPathIsToldApartFromAnUnknownOne) {
    const RouteTable table = tableOf({"/a/{x}", "/a/{rest...}"});
    for (const std::string_view path :
         {"/a/%", "/a/%0", "/a/%zz", "/a/%00", "/a/..", "/a/../b", "/a/%2e%2E/b", "/a/.", "/./a"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::badPath) << path;
    }
    for (const std::string_view path : {"/a/...", "/a/.well-known", "/a/x.y"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::found) << path;
    }
}

TEST(RouteTable, NoValueLeavesTheDirectoryThatARouteJoinsItTo) {
    const RouteTable table = tableOf({"/files/{path...}", "/one/{file}", "/two/{file}/x"});
    for (const std::string_view path :
         {"/files/..%2fsecret", "/files/%2e%2e%2Fsecret", "/files/a%2f..%2f..%2fsecret", "/files/a%2fb",
          "/files/%2fetc", "/files//etc", "/files///etc", "/files/a//b", "/files/a//", "/files//", "/one/..%2fsecret",
          "/one/a%2Fb", "/one/%2f", "/two/%2fetc/x"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::badPath) << path;
    }
    for (const std::string_view path : {"//files/a", "/one//", "/one/", "/two//x"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::noPath) << path;
    }
}

TEST(RouteTable, ARestOfTheWholePathIsRelativeToo) {
    const RouteTable table = tableOf({"/{path...}"});
    EXPECT_EQ(table.find(Method::get, "//etc/passwd").outcome, Outcome::badPath);
    EXPECT_EQ(table.find(Method::get, "//").outcome, Outcome::badPath);
    EXPECT_EQ(table.find(Method::get, "/%2fetc/passwd").outcome, Outcome::badPath);
    EXPECT_EQ(valueIn(table, "/etc/passwd", "path"), "etc/passwd");
    EXPECT_EQ(valueIn(table, "/", "path"), "");
}

TEST(RouteTable, AnEmptySegmentThatThePatternHasIsNotPartOfTheRest) {
    const RouteTable table = tableOf({"/a//{path...}"});
    EXPECT_EQ(valueIn(table, "/a//b/c", "path"), "b/c");
    EXPECT_EQ(table.find(Method::get, "/a///b").outcome, Outcome::badPath);
}

TEST(RouteTable, RawValuesAreGivenAsSent) {
    RouteTable table(PathValues::raw);
    table.get("/projects/{name}", nothing).get("/files/{path...}", nothing);
    EXPECT_EQ(valueIn(table, "/projects/group%2Fproject", "name"), "group%2Fproject");
    EXPECT_EQ(valueIn(table, "/files/%2e%2e%2fa//b%20c", "path"), "%2e%2e%2fa//b%20c");
    for (const std::string_view path : {"/files/../a", "/files/%2e%2e/a", "/projects/%00", "/projects/%"}) {
        EXPECT_EQ(table.find(Method::get, path).outcome, Outcome::badPath) << path;
    }
}

TEST(RouteTable, APatternWithAnEscapeMatchesInOneWay) {
    const RouteTable table = tableOf({"/a%20b", "/100%25/{x}"});
    EXPECT_EQ(table.find(Method::get, "/a%20b").outcome, Outcome::found);
    EXPECT_EQ(table.find(Method::get, "/%61%20b").outcome, Outcome::found);
    EXPECT_EQ(table.find(Method::get, "/a%2520b").outcome, Outcome::noPath);
    EXPECT_EQ(valueIn(table, "/100%25/y", "x"), "y");
    RouteTable twice = tableOf({"/a%20b"});
    EXPECT_THROW(twice.get("/a b", nothing), std::invalid_argument) << "the same route";
}

TEST(RouteTable, ABadPatternIsRefusedAndNamed) {
    RouteTable table;
    for (const std::string_view pattern :
         {"", "a", "/{}", "/{...}", "/a{x}", "/{x}b", "/{x", "/x}", "/{x}/{x}", "/{r...}/b", "/{a{b}", "/a/../b",
          "/./a", "/%2e%2e", "/a%2Fb", "/100%", "/%00"}) {
        try {
            table.get(pattern, nothing);
            ADD_FAILURE() << pattern;
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find("'" + std::string(pattern) + "'"), std::string::npos)
                << error.what();
        }
    }
    table.get("/a/{x}", nothing);
    EXPECT_THROW(table.get("/a/{y}", nothing), std::invalid_argument) << "the same route";
    EXPECT_NO_THROW(table.post("/a/{y}", nothing));
    EXPECT_THROW(table.add(Method::other, "/b", nothing), std::invalid_argument);
    EXPECT_EQ(table.find(Method::post, "/a/1").parameters["y"], "1") << "each route has its own names";
    EXPECT_EQ(table.find(Method::get, "/a/1").parameters["x"], "1");
}

TEST(RouteTable, APathOfThousandsOfSegmentsIsMatched) {
    const RouteTable table = tableOf({"/{a}/{b}/{c...}", "/{a}/{b}/x/{d...}"});
    std::string path;
    for (int i = 0; i < 4000; ++i) path += "/x";
    EXPECT_EQ(valueIn(table, path, "d").size(), path.size() - 7);
}

}  // namespace
}  // namespace weft::http
