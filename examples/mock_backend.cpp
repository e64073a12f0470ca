// A backend for http_server and reverse_proxy. It answers after a think time, during which a fiber sleeps, and can fail
// a share of the requests.
#include "support/program.hpp"

#include <chrono>
#include <exception>
#include <random>
#include <string>
#include <utility>

namespace {

using weft::http::Status;

// Ten fruits, about 600 bytes.
constexpr std::string_view fruits = R"({"fruits":[{"name":"apple","color":"red","origin":"Almaty","grams":182},)"
                                    R"({"name":"banana","color":"yellow","origin":"Kochi","grams":118},)"
                                    R"({"name":"cherry","color":"dark red","origin":"Giresun","grams":8},)"
                                    R"({"name":"fig","color":"purple","origin":"Smyrna","grams":50},)"
                                    R"({"name":"grape","color":"green","origin":"Tbilisi","grams":5},)"
                                    R"({"name":"kiwi","color":"brown","origin":"Yichang","grams":69},)"
                                    R"({"name":"lemon","color":"yellow","origin":"Assam","grams":58},)"
                                    R"({"name":"mango","color":"orange","origin":"Multan","grams":336},)"
                                    R"({"name":"orange","color":"orange","origin":"Seville","grams":131},)"
                                    R"({"name":"quince","color":"gold","origin":"Cydonia","grams":92}]})";

struct Behaviour {
    std::chrono::milliseconds thinkTime{0};
    double failRate = 0;  // share of requests whose connection is closed without a response
};

bool happens(double probability) {
    thread_local std::minstd_rand source{std::random_device()()};
    return probability > 0 && std::uniform_real_distribution<double>()(source) < probability;
}

class Backend final : public weft::SimpleInboundHandler<weft::http::FullRequest> {
  public:
    explicit Backend(const Behaviour& behaviour) noexcept : behaviour_(behaviour) {}

    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }

  protected:
    void channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) override {
        if (happens(behaviour_.failRate)) {
            ctx.close();
            return;
        }
        auto responder = request.responder();
        weft::http::Response response = answer(request);
        if (behaviour_.thinkTime.count() == 0) return responder.send(std::move(response));
        ctx.spawn(
            [time = behaviour_.thinkTime, responder = std::move(responder), response = std::move(response)]() mutable {
                weft::ErrorCode error;
                weft::thisFiber::sleepFor(time, error);
                responder.send(std::move(response));
            });
    }

  private:
    static weft::http::Response answer(const weft::http::FullRequest& request) {
        const std::string_view path = request.path();
        if (path != "/fruits" && path != "/health") return weft::http::error(Status::notFound);
        if (request.method() != weft::http::Method::get && request.method() != weft::http::Method::head) {
            weft::http::Response refusal = weft::http::error(Status::methodNotAllowed);
            refusal.headers.add("Allow", "GET, HEAD");
            return refusal;
        }
        if (path == "/health") return weft::http::ok(weft::Buffer::wrapStatic("OK"));
        return weft::http::ok(weft::Buffer::wrapStatic(fruits), "application/json");
    }

    const Behaviour behaviour_;
};

int run(const CLI::App& app, const examples::ServerFlags& flags, const Behaviour& behaviour) {
    weft::EventLoopGroup group(flags.group);
    weft::ServerBootstrap server(group);
    server.childHandler([behaviour](weft::Channel& channel) {
        channel.pipeline()
            .addLast<weft::http::ServerCodec>()
            .addLast<weft::http::ObjectAggregator>(64 * 1024)
            .addLast<Backend>(behaviour);
    });
    return examples::serve(app, flags, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Serves GET /fruits (JSON) and GET /health.", "mock_backend");
    const examples::ServerFlags flags(app, weft::SocketAddress("127.0.0.1", 9000));
    unsigned thinkMs = 0;
    app.add_option("--think-ms", thinkMs, "delay before each response in milliseconds, 0 to 60000; default 0")
        ->check(CLI::Range(0u, 60'000u))
        ->type_name("N");
    double failRate = 0;
    app.add_option("--fail-rate", failRate,
                   "fraction of requests that fail because it closes the connection, 0 to 1; default 0")
        ->check(CLI::Range(0.0, 1.0))
        ->type_name("P");
    return examples::runProgram(app, argc, argv, [&] {
        return run(app, flags, {std::chrono::milliseconds(thinkMs), failRate});
    });
}
