#include <cerrno>
#include <iostream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include <weft/framework/logging.hpp>
#include <weft/framework/run_main.hpp>
#include <weft/framework/run_until_signal.hpp>

#include "service_draft.hpp"

namespace weft::http {

namespace {

struct CommandLine {
    SocketAddress listen{"127.0.0.1", 8080};
    EventLoopGroupOptions group;
    LogLevel level = LogLevel::info;
    bool helped = false;  // --help has been answered
};

// An error's text becomes one of the option.
template <class Take>
auto parsedBy(const std::string& name, Take take) {
    return [name, take](const std::string& text) {
        try {
            take(text);
        } catch (const std::exception& error) {
            const std::string what = error.what();
            throw CLI::ValidationError(what.starts_with(name) ? what : name + ": " + what);
        }
    };
}

void addOwn(CLI::App& app, CommandLine& line) {
    static const std::map<std::string, LogLevel> levels{{"debug", LogLevel::debug},
                                                        {"info", LogLevel::info},
                                                        {"warning", LogLevel::warning},
                                                        {"error", LogLevel::error}};
    app.add_option_function<std::string>(
           "--listen",
           parsedBy("--listen", [&line](const std::string& text) { line.listen = SocketAddress::parse(text); }),
           "address to listen on; port 0 picks a free port; default " + line.listen.toString())
        ->type_name("ADDR:PORT");
    app.add_option("--carriers", line.group.carriers,
                   "number of threads that run fibers; default WEFT_CARRIERS, else the number of CPUs")
        ->check(CLI::Range(1u, 1024u))
        ->type_name("N");
    app.add_option_function<std::string>(
           "--transport",
           parsedBy("--transport",
                    [&line](const std::string& text) { line.group.transport = Transport::parse(text, "--transport"); }),
           "auto, epoll or io_uring; default WEFT_TRANSPORT, else auto")
        ->type_name("NAME");
    app.add_option_function<std::string>(
           "--log-level", [&line](const std::string& name) { line.level = levels.at(name); },
           "debug, info, warning or error: which log lines go to stderr; default info")
        ->check(CLI::IsMember(levels))
        ->type_name("LEVEL");
}

void add(CLI::App& app, detail::CommandLineOption& option) {
    std::string help = option.help;
    if (!option.standard.empty() && !option.flag) help += (help.empty() ? "default " : "; default ") + option.standard;
    if (option.flag) {
        app.add_flag_callback(
            option.name, [&option] { option.set("true"); }, help);
        return;
    }
    app.add_option_function<std::string>(
           option.name,
           [&option](const std::string& text) {
               if (!option.set(text))
                   throw CLI::ValidationError(detail::notAccepted(option.name, text, option.accepted));
           },
           help)
        ->type_name(option.accepted.empty() ? "TEXT" : "N");
}

std::string programOf(int argc, const char* const* argv) {
    if (argc < 1 || argv[0] == nullptr) return "";
    const std::string_view path = argv[0];
    return std::string(path.substr(path.rfind('/') + 1));
}

CommandLine read(int argc, const char* const* argv, detail::ServiceDraft& draft) {
    CommandLine line;
    line.group = draft.options.group;
    CLI::App app("", programOf(argc, argv));
    addOwn(app, line);
    for (detail::CommandLineOption& option : draft.commandLine) add(app, option);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help() << std::flush;
        line.helped = true;
    } catch (const CLI::Error& error) {
        throw ConfigurationError(std::string(error.what()) + "; see --help");
    }
    return line;
}

std::string adviceOn(int error) {
    if (error == EMFILE) return "; raise the limit of open files (ulimit -n)";
    if (error == EADDRINUSE || error == EADDRNOTAVAIL || error == EACCES)
        return "; choose another address with --listen";
    return "";
}

}  // namespace

int Service::run(int argc, const char* const* argv) {
    return runMain(argc, argv, [&] { return serve(argc, argv); });
}

int Service::serve(int argc, const char* const* argv) {
    const CommandLine line = read(argc, argv, *draft());
    if (line.helped) return 0;
    initializeLogging(line.level);
    EventLoopGroup group(line.group);
    if (draft()->onStart) group.spawn([&] { draft()->onStart(); }).join();  // a signal ends the process
    const ShutdownSignals signals;  // before the announcement: a reader of it may stop us at once
    Server server;
    try {
        server = bind(group, line.listen);
    } catch (const SystemError& error) {
        throw std::runtime_error("cannot listen on " + line.listen.toString() + ": " + error.code().message() +
                                 adviceOn(error.code().value()));
    }
    std::cout << "listening on " << server.localAddress() << std::endl;
    return runUntilSignal(group, draft()->options.drainTime);
}

}  // namespace weft::http
