// The chat program as a process: it sends lines to all members, over several carriers.
#include <string>

#include <gtest/gtest.h>

#include "examples/program.hpp"
#include "transports/blocking_peer.hpp"

namespace weft::test {
namespace {

class Talker {
  public:
    explicit Talker(const SocketAddress& chat) : peer_(chat) { greeting_ = line(); }

    void say(const std::string& text) { peer_.send(text + "\n"); }
    // The next line; "" at the end of the stream.
    std::string line() {
        std::size_t end = 0;
        while ((end = buffered_.find('\n')) == std::string::npos) {
            const std::string more = peer_.receive();
            if (more.empty()) return "";
            buffered_ += more;
        }
        const std::string text = buffered_.substr(0, end);
        buffered_.erase(0, end + 1);
        return text;
    }
    // Skips lines up to one that contains `text`; false when the stream ends first.
    bool hears(const std::string& text) {
        for (std::string next = line(); !next.empty(); next = line()) {
            if (next.find(text) != std::string::npos) return true;
        }
        return false;
    }
    const std::string& greeting() const { return greeting_; }
    BlockingPeer& peer() { return peer_; }

  private:
    BlockingPeer peer_;
    std::string buffered_;
    std::string greeting_;
};

Program chat() {
    return Program("chat", {"--listen", "127.0.0.1:0", "--carriers", "2"});
}

TEST(ChatExample, AllMembersReceiveALine) {
    Program program = chat();
    const SocketAddress address = program.listening();
    Talker ada(address);
    EXPECT_TRUE(ada.greeting().starts_with("* you are guest")) << ada.greeting();
    ada.say("/nick ada");
    EXPECT_TRUE(ada.hears(" is now ada"));
    Talker grace(address);
    grace.say("/nick grace");
    for (Talker* each : {&ada, &grace}) EXPECT_TRUE(each->hears(" is now grace"));
    Talker edsger(address);
    edsger.say("/nick edsger");
    for (Talker* each : {&ada, &grace, &edsger}) EXPECT_TRUE(each->hears(" is now edsger"));
    ada.say("hello\r");
    for (Talker* each : {&grace, &edsger}) EXPECT_TRUE(each->hears("ada: hello"));
    ada.say("/who");
    EXPECT_TRUE(ada.hears("* here: ada edsger grace"));
    ada.say("/nick grace");
    EXPECT_TRUE(ada.hears("* grace is taken"));
    ada.say("/nick no good");
    EXPECT_TRUE(ada.hears("* a nick has"));
    ada.say("/dance");
    EXPECT_TRUE(ada.hears("* the commands are /nick"));
    grace.say("/quit");
    EXPECT_TRUE(grace.hears("* goodbye"));
    EXPECT_EQ(grace.line(), "");
    EXPECT_TRUE(ada.hears("* grace has left"));
    ada.say("/nick grace");
    EXPECT_TRUE(ada.hears("* ada is now grace"));
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

TEST(ChatExample, ALineThatIsTooLongIsRefusedAndTheNextIsHeard) {
    Program program = chat();
    const SocketAddress address = program.listening();
    Talker ada(address);
    Talker grace(address);
    ada.say("/nick ada");
    ada.say(std::string(2000, 'x'));
    EXPECT_TRUE(ada.hears("* a line has at most 1024 bytes"));
    ada.say("short");
    EXPECT_TRUE(grace.hears("ada: short"));
    EXPECT_EQ(program.stop(), 0);
}

TEST(ChatExample, ASlowMemberDoesNotHoldTheOthersUp) {
    Program program = chat();
    const SocketAddress address = program.listening();
    Talker slow(address);  // reads nothing from here on
    Talker ada(address);
    Talker grace(address);
    ada.say("/nick ada");
    EXPECT_TRUE(grace.hears(" is now ada"));
    const std::string text(1000, 'x');
    constexpr int together = 20;  // few enough for a member who reads
    std::string lines;
    for (int i = 0; i < together; ++i) lines += text + "\n";
    for (int i = 0; i < 500; ++i) {  // 10 MB: more than the server keeps for a member who does not read
        ada.peer().send(lines);
        for (int j = 0; j < together; ++j) ASSERT_EQ(grace.line(), "ada: " + text) << i;
    }
    slow.peer().close();
    EXPECT_EQ(program.stop(SIGTERM), 0);
}

TEST(ChatExample, ASignalSendsGoodbyeToAllMembers) {
    Program program = chat();
    Talker ada(program.listening());
    program.signal(SIGTERM);
    EXPECT_TRUE(ada.hears("* the chat is closing"));
    EXPECT_EQ(ada.line(), "");
    EXPECT_EQ(program.exitStatus(), 0);
    EXPECT_EQ(program.complaints(), "");
}

}  // namespace
}  // namespace weft::test
