// Channels whose peers end in every way, with and without half-closure: a handler that receives no error has received
// every byte and an orderly end, and a connection whose peer has gone ends without a write.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "chaos/chaos.hpp"
#include "chaos/raw_peer.hpp"
#include "framework/bench.hpp"
#include "support/pattern.hpp"
#include "support/watchdog.hpp"

namespace weft::test {
namespace {

constexpr unsigned peers = 4;  // threads
constexpr std::size_t most = 300'000;

const std::string bytes = pattern(most);

// The handler's reaction to the peer's end of output when half-closure is allowed. (A handler that also ends its own
// output has to close: after two orderly ends the connection reports nothing more.)
enum class Reply : unsigned char { waits, closes, writesAndCloses, endsOutput, count_ };

// One connection: the peer's acts, set before it performs them, and what the handler has seen.
struct Scene {
    explicit Scene(Dice& dice)
        : halfClosure(dice.oneIn(2)),
          talks(dice.oneIn(3)),
          autoRead(!dice.oneIn(3)),
          reply(static_cast<Reply>(dice.below(static_cast<unsigned>(Reply::count_)))),
          size(dice.size(most)) {}

    const bool halfClosure;
    const bool talks;     // the handler writes more than the kernel takes, at once
    const bool autoRead;  // else it asks for each read
    const Reply reply;
    const std::size_t size;
    std::atomic<bool> endsOutput{false};  // the peer, after all of `size`
    std::atomic<bool> resets{false};

    std::string text() const {
        return "received " + std::to_string(received) + " of " + std::to_string(size) + ", errors " +
               std::to_string(errors) + ", half-closure " + std::to_string(halfClosure) + ", talks " +
               std::to_string(talks) + ", AUTO_READ " + std::to_string(autoRead) + ", reply " +
               std::to_string(static_cast<int>(reply)) + ", write failed " + std::to_string(writeFailed) +
               ", the peer: ends output " + std::to_string(endsOutput) + ", resets " + std::to_string(resets);
    }

    std::size_t received = 0;
    int errors = 0;
    int inactives = 0;
    bool writeFailed = false;
    bool closedHere = false;
    Promise<void> ended;
};

// Checks each event of the scene's connection.
class Witness final : public ChannelInboundHandler {
  public:
    explicit Witness(std::shared_ptr<Scene> scene) : scene_(std::move(scene)) {}

    void channelActive(ChannelHandlerContext& ctx) override {
        if (scene_->talks) talk(ctx);
        if (!scene_->autoRead) ctx.read();
    }
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        const Buffer piece = message.take<Buffer>();
        if (bytes.compare(scene_->received, piece.readableBytes(), piece.view()) != 0) wrong("bytes arrive changed");
        scene_->received += piece.readableBytes();
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        if (!scene_->autoRead) ctx.read();
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (!event.is<InputShutdownEvent>()) return;
        expect(scene_->endsOutput && scene_->received == scene_->size, "an end of input that the peer has not sent");
        scene_->closedHere = scene_->reply != Reply::waits;
        if (scene_->reply == Reply::writesAndCloses) talk(ctx);
        if (scene_->reply == Reply::endsOutput) ctx.channel().shutdownOutput().addListener(closeChannel);
        else if (scene_->closedHere) ctx.close();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override {
        ++scene_->errors;
        expect(scene_->resets, "an error although the peer has not reset");
        expect(scene_->errors == 1, "one reset, two errors");
    }
    void channelInactive(ChannelHandlerContext&) override {
        ++scene_->inactives;
        const bool toldOfError = scene_->errors != 0 || scene_->writeFailed || scene_->closedHere;
        expect(scene_->inactives == 1, "inactive twice");
        expect(toldOfError || scene_->endsOutput, "a reset looks like an orderly end");
        expect(toldOfError || scene_->received == scene_->size, "an orderly end before the last byte");
    }
    void handlerRemoved(ChannelHandlerContext&) override { scene_->ended.setValue(); }

  private:
    void talk(ChannelHandlerContext& ctx) {
        ChannelPromise promise = ctx.newPromise();
        promise.addListener([scene = scene_](const ChannelFuture& done) { scene->writeFailed = !done.success(); });
        ctx.writeAndFlush(Message(Buffer::copyOf(bytes)), promise);
    }
    void expect(bool holds, const std::string& what) {
        if (holds || anythingWrong()) return;
        wrong(what + "\n" + scene_->text());
    }

    const std::shared_ptr<Scene> scene_;
};

// A server for one peer at a time: its next connection belongs to the scene next_.
class Stage {
  public:
    explicit Stage(EventLoopGroup& group) {
        ServerBootstrap bootstrap(group);
        bootstrap.childHandler([this](Channel& channel) {
            std::lock_guard held(lock_);
            channel.setOption(ChannelOption::ALLOW_HALF_CLOSURE, next_->halfClosure);
            channel.setOption(ChannelOption::AUTO_READ, next_->autoRead);
            channel.pipeline().addLast<Witness>(std::exchange(next_, nullptr));
        });
        server_ = bootstrap.bind(anyPort).sync().channel();
    }
    void play(Dice& dice) {
        const auto scene = std::make_shared<Scene>(dice);
        const Future<void> ended = scene->ended.future();
        {
            std::lock_guard held(lock_);
            next_ = scene;
        }
        perform(*scene, dice);
        if (!ended.awaitUntil(testDeadline() + std::chrono::seconds(40))) {
            wrong("a channel lives on although its peer has gone\n" + scene->text());
        }
    }

  private:
    void perform(Scene& scene, Dice& dice) const {
        RawPeer peer(server_.localAddress());
        const std::string_view all = std::string_view(bytes).substr(0, scene.size);
        const bool cut = dice.oneIn(3);
        if (!peer.sendChopped(cut ? all.substr(0, all.size() / 2) : all, dice)) wrong("the server ends first");
        if (dice.oneIn(2)) settle(dice);
        if (!cut && !dice.oneIn(4)) {
            scene.endsOutput = true;
            peer.endOutput();
            if (dice.oneIn(2)) settle(dice);
            if (closesByItself(scene) && dice.oneIn(2)) return peer.receiveToEnd();
        }
        scene.resets = true;
        peer.reset();
    }
    // Whether the channel closes by itself once its peer has ended its output and has received everything.
    static bool closesByItself(const Scene& scene) { return !scene.halfClosure || scene.reply != Reply::waits; }
    static void settle(Dice& dice) { std::this_thread::sleep_for(std::chrono::microseconds(dice.size(1000))); }

    std::mutex lock_;  // guards next_
    std::shared_ptr<Scene> next_;
    Server server_;
};

TEST(SocketChaos, AChannelWhosePeerHasGoneEndsWithoutAWrite) {
    ChaosRun run("connections");
    EventLoopGroup group(groupOptions(2));
    Watchdog watchdog(group.carriers());
    std::vector<std::unique_ptr<Stage>> stages;
    for (unsigned i = 0; i < peers; ++i) stages.push_back(std::make_unique<Stage>(group));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < peers; ++i) {
        threads.emplace_back([&, i] {
            for (Dice dice(i); run.goesOn(); run.count(), watchdog.advance()) stages[i]->play(dice);
        });
    }
    for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft::test
