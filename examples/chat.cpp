// A chat across all carriers: each line goes to all members, through one channel group. A member that does not read
// loses lines and is finally disconnected, but never delays the others.
#include "support/program.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/channel_group.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>
#include <weft/pipeline/codec/string_codec.hpp>
#include <weft/pipeline/handlers/write_timeout_handler.hpp>

namespace {

constexpr std::size_t longestLine = 1024;  // bytes
constexpr std::size_t longestNick = 20;    // characters
constexpr std::chrono::seconds stalledFor(30);

// The members of the chat. Used by the handlers of all loops.
class Room {
  public:
    // Sends to everyone except `author` and members that already have too many bytes queued. The latter miss the line.
    void tell(const std::string& line, const weft::Channel* author = nullptr) {
        members_.writeAndFlush(line + "\n",
                               [author](weft::Channel& member) { return &member != author && member.isWritable(); });
    }
    void join(weft::Channel& channel, const std::string& nick) {
        members_.add(channel);
        rename(channel, nick);
    }
    // Returns false when another member has that name.
    bool rename(weft::Channel& channel, const std::string& nick) {
        std::lock_guard held(lock_);
        if (!nicks_.emplace(nick, channel.id()).second) return false;
        std::erase_if(nicks_, [&](const auto& each) { return each.second == channel.id() && each.first != nick; });
        return true;
    }
    void leave(weft::Channel& channel) {
        std::lock_guard held(lock_);
        std::erase_if(nicks_, [&](const auto& each) { return each.second == channel.id(); });
    }
    std::string list() {
        std::lock_guard held(lock_);
        std::string all;
        for (const auto& [nick, id] : nicks_) all += " " + nick;
        return all;
    }

  private:
    weft::ChannelGroup members_;
    std::mutex lock_;  // guards nicks_
    std::map<std::string, std::uint64_t> nicks_;
};

bool isNick(std::string_view text) {
    return !text.empty() && text.size() <= longestNick && !text.starts_with("guest") &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '-';
           });
}

class Member final : public weft::SimpleInboundHandler<std::string> {
  public:
    explicit Member(std::shared_ptr<Room> room) : room_(std::move(room)) {}

    void channelActive(weft::ChannelHandlerContext& ctx) override {
        nick_ = "guest" + std::to_string(ctx.channel().id());
        room_->join(ctx.channel(), nick_);
        say(ctx, "* you are " + nick_ + "; /nick NAME, /who, /quit");
        room_->tell("* " + nick_ + " has joined", &ctx.channel());
        ctx.fireChannelActive();
    }
    void channelInactive(weft::ChannelHandlerContext& ctx) override {
        room_->leave(ctx.channel());
        room_->tell("* " + nick_ + " has left", &ctx.channel());
        ctx.fireChannelInactive();
    }
    void userEventTriggered(weft::ChannelHandlerContext& ctx, weft::Message&& event) override {
        if (!event.is<weft::DrainStarted>()) return ctx.fireUserEventTriggered(std::move(event));
        sayGoodbye(ctx, "* the chat is closing");
    }
    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr cause) override {
        if (!isTooLong(cause)) return static_cast<void>(ctx.close());
        say(ctx, "* a line has at most " + std::to_string(longestLine) + " bytes");
    }

  protected:
    void channelRead0(weft::ChannelHandlerContext& ctx, std::string line) override {
        if (line.starts_with("/nick ")) return rename(ctx, line.substr(6));
        if (line == "/who") return say(ctx, "* here:" + room_->list());
        if (line == "/quit") return sayGoodbye(ctx, "* goodbye");
        if (line.starts_with('/')) return say(ctx, "* the commands are /nick NAME, /who and /quit");
        if (!line.empty()) room_->tell(nick_ + ": " + line, &ctx.channel());
    }

  private:
    static bool isTooLong(const std::exception_ptr& cause) {
        try {
            std::rethrow_exception(cause);
        } catch (const weft::TooLongFrameException&) {
            return true;
        } catch (...) {
            return false;
        }
    }
    static void say(weft::ChannelHandlerContext& ctx, std::string line) { ctx.writeAndFlush(std::move(line) + "\n"); }
    static void sayGoodbye(weft::ChannelHandlerContext& ctx, std::string line) {
        weft::ChannelPromise last = ctx.newPromise();
        last.addListener(weft::closeChannel);
        ctx.writeAndFlush(std::move(line) + "\n", std::move(last));
    }
    void rename(weft::ChannelHandlerContext& ctx, const std::string& nick) {
        if (!isNick(nick))
            return say(ctx, "* a nick has 1 to 20 letters, digits, '-' or '_', and does not begin with guest");
        if (!room_->rename(ctx.channel(), nick)) return say(ctx, "* " + nick + " is taken");
        room_->tell("* " + nick_ + " is now " + nick);
        nick_ = nick;
    }

    const std::shared_ptr<Room> room_;
    std::string nick_;
};

int run(const CLI::App& app, const examples::ServerFlags& flags) {
    weft::EventLoopGroup group(flags.group);
    const auto room = std::make_shared<Room>();
    weft::ServerBootstrap server(group);
    server.childHandler([room](weft::Channel& channel) {
        channel.pipeline()
            .addLast<weft::WriteTimeoutHandler>(stalledFor)
            .addLast<weft::LineBasedFrameDecoder>(longestLine)
            .addLast<weft::StringDecoder>()
            .addLast<weft::StringEncoder>()
            .addLast<Member>(room);
    });
    return examples::serve(app, flags, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("A line-based chat server. Connect with nc or telnet.", "chat");
    const examples::ServerFlags flags(app, weft::SocketAddress("127.0.0.1", 7008));
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
