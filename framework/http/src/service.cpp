#include <weft/http/service.hpp>

#include <algorithm>
#include <stdexcept>

#include <weft/framework/server_bootstrap.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_pipeline.hpp>
#include <weft/pipeline/detail/printable.hpp>

#include "service_draft.hpp"
#include "service_handler.hpp"

namespace weft::http {

namespace {

// "--name", of letters, digits and '-'.
bool isOptionName(std::string_view name) noexcept {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    };
    return name.size() > 2 && name.starts_with("--") && name[2] != '-' &&
           std::all_of(name.begin() + 2, name.end(), fits);
}

constexpr std::string_view ownOptions[] = {"--listen", "--carriers", "--transport", "--log-level", "--help"};

}  // namespace

Service::Service(ServiceOptions options) : Routes(std::make_shared<detail::ServiceDraft>(std::move(options)), 0) {}

void Service::setOnError(OnError function) {
    draft()->requireOpen("onError");
    draft()->onError = std::move(function);
}

Service& Service::onStart(UniqueFunction<void()> function) {
    draft()->requireOpen("onStart");
    draft()->onStart = std::move(function);
    return *this;
}

void Service::addOption(std::string_view name, std::string_view help, detail::CommandLineOption option) {
    draft()->requireOpen("option");
    auto& all = draft()->commandLine;
    const auto isName = [&](const auto& other) { return other.name == name; };
    const char* wrong = nullptr;
    if (!isOptionName(name)) wrong = "is not a name; accepted: \"--name\", of letters, digits and '-'";
    if (std::find(std::begin(ownOptions), std::end(ownOptions), name) != std::end(ownOptions) ||
        std::any_of(all.begin(), all.end(), isName))
        wrong = "is taken; choose another name";
    if (wrong != nullptr)
        throw std::invalid_argument("http::Service::option: '" + weft::detail::printable(name) + "' " + wrong);
    option.name = name;
    option.help = help;
    all.push_back(std::move(option));
}

Server Service::bind(EventLoopGroup& group, const SocketAddress& address) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([plan = draft()->plan()](Channel& channel) {
        channel.pipeline().addLast<ServerCodec>(plan->codec).addLast<detail::ServiceHandler>(plan);
    });
    return bootstrap.bind(address).sync().channel();
}

}  // namespace weft::http
