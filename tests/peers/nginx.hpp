// Nginx: an nginx of one process on a loopback port, with a configuration and files of its own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

#include "framework/reserved_port.hpp"
#include "peers/peer.hpp"

namespace weft::test {

class Nginx {
  public:
    // `locations`: the contents of its server block. Returns once it listens.
    explicit Nginx(const std::string& locations, const std::string& outside = "") : directory_(temporaryDirectory()) {
        std::ofstream(directory_ / "nginx.conf")
            << "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr notice;\n"
               "events { worker_connections 512; }\nhttp {\naccess_log off;\nclient_body_temp_path body;\n"
               "proxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n"
            << outside << "\nserver {\nlisten " << port_.address().toString() << ";\nroot " << directory_.string()
            << ";\n"
            << locations << "\n}\n}\n";
        program_.emplace(peerPath("nginx"),
                         std::vector<std::string>{"-p", directory_.string() + "/", "-e", "stderr", "-c", "nginx.conf"});
        // It says which event method it uses once it has opened its sockets.
        for (std::string line = program_->errorLine(); line.find("event method") == std::string::npos;
             line = program_->errorLine()) {
            if (line.empty() || line.find("[emerg]") != std::string::npos) throw std::runtime_error("nginx: " + line);
        }
    }
    ~Nginx() {
        program_.reset();
        std::filesystem::remove_all(directory_);
    }
    Nginx(const Nginx&) = delete;
    Nginx& operator=(const Nginx&) = delete;

    SocketAddress address() const { return port_.address(); }
    std::string url(const std::string& target) const { return "http://" + address().toString() + target; }
    void addFile(const std::string& name, const std::string& bytes) const {
        std::ofstream(directory_ / name, std::ios::binary) << bytes;
    }

  private:
    static std::filesystem::path temporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "weft-nginx-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
        // As root, nginx answers as another user.
        std::filesystem::permissions(name, std::filesystem::perms::others_read | std::filesystem::perms::others_exec,
                                     std::filesystem::perm_options::add);
        return name;
    }

    const ReservedPort port_;
    const std::filesystem::path directory_;
    std::optional<Program> program_;
};

}  // namespace weft::test
