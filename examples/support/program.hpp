// Shared by all example programs: flags, one-line errors, exit statuses, and the line that announces the address.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <weft/weft.hpp>

namespace examples {

enum ExitStatus : int { success = 0, failure = 1, wrongUse = 2 };

inline std::string inOneLine(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

inline int complain(const std::string& program, const std::string& what, ExitStatus status) {
    std::cerr << program << ": " << inOneLine(what) << std::endl;
    return status;
}

struct ExplainTransport {};  // thrown by the flag --explain-transport

// Calls body() after reading the flags. Exits with 0 after --help, 2 for wrong flags or configuration, and 1 for any
// other failure, each with one line on stderr.
template <class Body>
int runProgram(CLI::App& app, int argc, char** argv, Body body) {
    weft::initializeLogging(weft::LogLevel::warning);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help() << std::flush;
        return success;
    } catch (const ExplainTransport&) {
        std::cout << weft::Transport::explain() << std::endl;
        return success;
    } catch (const CLI::Error& error) {
        return complain(app.get_name(), std::string(error.what()) + "; see --help", wrongUse);
    }
    try {
        return body();
    } catch (const weft::ConfigurationError& error) {
        return complain(app.get_name(), error.what(), wrongUse);
    } catch (const std::exception& error) {
        return complain(app.get_name(), error.what(), failure);
    }
}

// Adds a flag whose value `parse` converts into `into`; the text of its exception becomes the error message.
template <class T, class Parse>
CLI::Option* addParsed(CLI::App& app, const std::string& name, T& into, const std::string& help, Parse parse) {
    const auto take = [&into, name, parse](const std::string& text) {
        try {
            into = parse(text);
        } catch (const std::exception& error) {
            const std::string what = error.what();
            throw CLI::ValidationError(what.starts_with(name) ? what : name + ": " + what);
        }
    };
    return app.add_option_function<std::string>(name, take, help);
}

template <class T>
CLI::Option* addAddress(CLI::App& app, const std::string& name, T& into, const std::string& help) {
    return addParsed(app, name, into, help, [](const std::string& text) { return weft::SocketAddress::parse(text); })
        ->type_name("ADDR:PORT");
}

inline void addLogLevel(CLI::App& app) {
    using weft::LogLevel;
    static const std::map<std::string, LogLevel> levels{{"debug", LogLevel::debug},
                                                        {"info", LogLevel::info},
                                                        {"warning", LogLevel::warning},
                                                        {"error", LogLevel::error}};
    app.add_option_function<std::string>(
           "--log-level", [](const std::string& name) { weft::initializeLogging(levels.at(name)); },
           "debug, info, warning or error: which log lines go to stderr; default warning")
        ->check(CLI::IsMember(levels))
        ->type_name("LEVEL");
}

// The flags of every program that listens.
struct ServerFlags {
    weft::SocketAddress listen;
    weft::EventLoopGroupOptions group;

    ServerFlags(CLI::App& app, const weft::SocketAddress& otherwise) : listen(otherwise) {
        addAddress(app, "--listen", listen,
                   "address to listen on; port 0 picks a free port; default " + otherwise.toString());
        addCarriers(app, group);
        addHelp(app, group);
        addParsed(app, "--transport", group.transport, "auto, epoll or io_uring; default WEFT_TRANSPORT, else auto",
                  [](const std::string& text) { return weft::Transport::parse(text, "--transport"); })
            ->type_name("NAME");
        addLogLevel(app);
        app.add_flag_callback(
            "--explain-transport", [] { throw ExplainTransport(); },
            "print which transport auto selects here, and why");
    }
    static void addCarriers(CLI::App& app, weft::CarrierOptions& options) {
        app.add_option("--carriers", options.carriers,
                       "number of threads that run fibers; default WEFT_CARRIERS, else the number of CPUs")
            ->check(CLI::Range(1u, 1024u))
            ->type_name("N");
    }
    // Flags for CPU placement, for idling before a sleep, and for work stealing.
    static void addHelp(CLI::App& app, weft::CarrierOptions& options) {
        static const std::map<std::string, weft::StealScope> scopes{{"global", weft::StealScope::global},
                                                                    {"cluster", weft::StealScope::cluster}};
        app.add_flag_callback(
            "--work-stealing", [&options] { options.workStealing = true; },
            "idle carriers run fibers of busy ones; default WEFT_WORK_STEALING, else off");
        app.add_option_function<std::string>(
               "--steal-scope", [&options](const std::string& name) { options.stealScope = scopes.at(name); },
               "which carriers steal from each other: global (all), or cluster (those that share a cache); default "
               "WEFT_STEAL_SCOPE, else cluster with a topology")
            ->check(CLI::IsMember(scopes))
            ->type_name("NAME");
        app.add_option(
               "--topology", options.topology,
               "none, linux or linux+N: bind carriers to CPUs, skipping the first N; default WEFT_TOPOLOGY, else none")
            ->check([](const std::string& name) {
                const bool numbered = name.starts_with("linux+") && name.size() > 6 &&
                                      name.find_first_not_of("0123456789", 6) == std::string::npos;
                return numbered || name == "none" || name == "linux" ? "" : name + " is not none, linux or linux+N";
            })
            ->type_name("NAME");
        app.add_option_function<unsigned>(
               "--idle-spin-us", [&options](unsigned us) { options.idleSpin = std::chrono::microseconds(us); },
               "microseconds that a loop polls before it sleeps; default WEFT_IDLE_SPIN_US, else 0")
            ->check(CLI::Range(0u, 1'000'000u))
            ->type_name("N");
    }
};

inline void announce(const weft::SocketAddress& address) {
    std::cout << "listening on " << address.toString() << std::endl;
}

// Advice to append when listening has failed with `code`.
inline const char* adviceOn(const weft::ErrorCode& code) {
    if (code.value() == EMFILE) return "; raise the limit of open files (ulimit -n)";
    if (code.value() == EADDRINUSE || code.value() == EADDRNOTAVAIL || code.value() == EACCES)
        return "; choose another address with --listen";
    return "";
}

inline int cannotListen(const CLI::App& app, const weft::SocketAddress& address, const weft::SystemError& error) {
    return complain(app.get_name(),
                    "cannot listen on " + address.toString() + ": " + error.code().message() + adviceOn(error.code()),
                    failure);
}

struct NoOtherPort {
    void bind() const {}
};

// Binds, announces the address, binds the other port, and serves until SIGINT or SIGTERM.
template <class OtherPort = NoOtherPort>
int serve(const CLI::App& app, const ServerFlags& flags, weft::EventLoopGroup& group, weft::ServerBootstrap& bootstrap,
          OtherPort&& other = {}) {
    const weft::ShutdownSignals signals;  // before the announcement: a reader of it may stop us at once
    weft::Server server;
    try {
        server = bootstrap.bind(flags.listen).sync().channel();
    } catch (const weft::SystemError& error) {
        return cannotListen(app, flags.listen, error);
    }
    announce(server.localAddress());
    other.bind();
    return weft::runUntilSignal(group);
}

}  // namespace examples
