// Program: an example program, or another one, as a child process: started with flags, its output read, stopped by a
// signal.
#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>

#include "support/sanitized.hpp"

namespace weft::test {

// The time limit of one wait in milliseconds: only a program that hangs reaches it.
inline constexpr int timeoutMs = 30'000;

class Program {
  public:
    // `name`: that of an example, or an absolute path. Starts it through `launcher`, a command that execs the given
    // program (prlimit --nofile=40).
    explicit Program(const std::string& name, std::vector<std::string> flags = {},
                     std::vector<std::string> launcher = {})
        : name_(name) {
        int output[2];
        int errors[2];
        if (::pipe2(output, O_CLOEXEC) != 0 || ::pipe2(errors, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        std::string path = std::filesystem::path(WEFT_EXAMPLES_DIR) / name;
        std::vector<char*> arguments;
        for (auto& word : launcher) arguments.push_back(word.data());
        arguments.push_back(path.data());
        for (auto& flag : flags) arguments.push_back(flag.data());
        arguments.push_back(nullptr);
        child_ = ::fork();
        if (child_ == 0) {
            ::dup2(output[1], STDOUT_FILENO);
            ::dup2(errors[1], STDERR_FILENO);
            ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // tests count its descriptors: it inherits none of ours
            ::execvp(arguments.front(), arguments.data());
            ::_exit(127);
        }
        ::close(output[1]);
        ::close(errors[1]);
        output_ = output[0];
        errors_ = errors[0];
    }
    ~Program() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        ::close(output_);
        ::close(errors_);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    pid_t pid() const { return child_; }
    // The next line of its output, without the line end.
    std::string outputLine() { return line(output_); }
    std::string errorLine() { return line(errors_); }
    std::string allOutput() { return rest(output_); }
    std::string allErrors() { return rest(errors_); }

    // Reads "listening on ADDR:PORT".
    SocketAddress listening() {
        const std::string text = outputLine();
        const std::string prefix = "listening on ";
        if (text.compare(0, prefix.size(), prefix) != 0) {
            throw std::runtime_error(name_ + " said '" + text + "' and complained '" + rest(errors_) + "'");
        }
        return SocketAddress::parse(text.substr(prefix.size()));
    }

    void signal(int number) const { ::kill(child_, number); }
    // Stops it, and returns once none of its threads runs any more.
    void freeze() const {
        signal(SIGSTOP);
        int status = 0;
        if (::waitpid(child_, &status, WUNTRACED) != child_ || !WIFSTOPPED(status)) {
            throw std::runtime_error(name_ + " does not stop");
        }
    }
    void thaw() const { signal(SIGCONT); }
    // Waits for its end: the exit status, or 128 + the signal that ended it. Returns once both pipes have ended.
    int exitStatus() {
        outputText_ = rest(output_);
        errorsText_ = rest(errors_);
        int status = 0;
        ::waitpid(std::exchange(child_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    int stop(int number = SIGTERM) {
        signal(number);
        return exitStatus();
    }
    // Call after exitStatus().
    const std::string& output() const { return outputText_; }
    const std::string& errors() const { return errorsText_; }
    // The same without the lines about timers that a loaded machine has delayed.
    std::string complaints() const {
        std::istringstream lines(errorsText_);
        std::string rest;
        for (std::string text; std::getline(lines, text);) {
            if (text.find("past parkDeadline()") == std::string::npos) rest += text + "\n";
        }
        return rest;
    }

    std::size_t threads() const { return tasks().size(); }
    std::size_t descriptors() const {
        const std::filesystem::directory_iterator all("/proc/" + std::to_string(child_) + "/fd");
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }
    // Per thread: the CPU time and the number of sleeps, as counted by the kernel. Equal at two times: nothing ran.
    std::string activity() const {
        std::string all;
        for (const std::filesystem::path& task : tasks()) {
            std::ifstream status(task / "status");
            for (std::string text; std::getline(status, text);) {
                if (text.find("ctxt_switches") != std::string::npos) all += text + "\n";
            }
            std::ifstream usage(task / "schedstat");
            std::string cpu;
            usage >> cpu;
            all += "cpu ns: " + cpu + "\n";
        }
        return all;
    }

  private:
    // The program's threads, the main one first.
    std::vector<std::filesystem::path> tasks() const {
        std::map<long, std::filesystem::path> byId;
        for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(child_) + "/task")) {
            byId.emplace(std::stol(task.path().filename()), task.path());
        }
        std::vector<std::filesystem::path> all;
        for (const auto& [id, path] : byId) all.push_back(path);
#ifdef WEFT_SANITIZED_THREAD
        all.erase(all.begin() + 1);  // the sanitizer's own thread, started before main()
#endif
        return all;
    }
    bool readSome(int fd, std::string& into, std::size_t most) {
        pollfd wanted{fd, POLLIN, 0};
        if (::poll(&wanted, 1, timeoutMs) == 0) throw std::runtime_error(name_ + ": no output, and no end");
        std::string bytes(most, '\0');
        const ssize_t count = ::read(fd, bytes.data(), most);
        if (count > 0) into.append(bytes, 0, static_cast<std::size_t>(count));
        return count > 0;
    }
    std::string line(int fd) {
        std::string text;
        while ((text.empty() || text.back() != '\n') && readSome(fd, text, 1)) {
        }
        if (!text.empty() && text.back() == '\n') text.pop_back();
        return text;
    }
    std::string rest(int fd) {
        std::string text;
        while (readSome(fd, text, 4096)) {
        }
        return text;
    }

    std::string name_;
    pid_t child_ = -1;
    int output_ = -1;
    int errors_ = -1;
    std::string outputText_;
    std::string errorsText_;
};

}  // namespace weft::test
