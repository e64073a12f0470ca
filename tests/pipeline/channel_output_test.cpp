// ChannelOutput: what is sent, in which order, which promises complete, and what counts as pending.
#include <weft/pipeline/channel_output.hpp>

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/manual_clock.hpp>

namespace weft {
namespace {

std::string gathered(const ChannelOutput& output, std::size_t maxBytes = 1 << 20) {
    iovec pieces[32];
    std::string text;
    const std::size_t count = output.gather(pieces, 32, maxBytes);
    for (std::size_t i = 0; i < count; ++i)
        text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    return text;
}

ChannelPromise listened(std::string& log, char mark) {
    ChannelPromise promise = ChannelPromise::detached();
    promise.addListener(
        [&log, mark](const ChannelFuture& future) { log += future.success() ? mark : char(mark - 32); });
    return promise;
}

TEST(ChannelOutput, W1_OnlyFlushedBytesAreOffered) {
    ChannelOutput output;
    output.write(Buffer::copyOf("first"), {});
    EXPECT_TRUE(output.empty());
    output.flush();
    output.write(Buffer::copyOf("second"), {});
    EXPECT_EQ(gathered(output), "first");
    EXPECT_EQ(output.flushedBytes(), 5u);
    output.flush();
    EXPECT_EQ(gathered(output), "firstsecond");
}

TEST(ChannelOutput, W1_PromisesCompleteInOrderWhenTheirBytesAreWritten) {
    ChannelOutput output;
    std::string log;
    output.write(Buffer::copyOf("aaaa"), listened(log, 'a'));
    output.write(Buffer::copyOf(""), listened(log, 'b'));
    output.write(Buffer::copyOf("cccc"), listened(log, 'c'));
    output.flush();
    output.consume(3);
    EXPECT_EQ(log, "");
    output.consume(1);
    EXPECT_EQ(log, "ab") << "a write of no bytes completes when all before it has";
    EXPECT_EQ(gathered(output), "cccc");
    output.consume(4);
    EXPECT_EQ(log, "abc");
    EXPECT_TRUE(output.empty());
}

TEST(ChannelOutput, W3_PendingCountsBytesAndAnOverheadPerPieceAndMark) {
    ChannelOutput output;
    std::string log;
    output.write(Buffer::copyOf("12345"), {});
    output.write(Buffer::copyOf("123"), {});
    EXPECT_EQ(output.pendingBytes(), 8u) << "copied";
    output.write(Buffer::copyOf(std::string(2000, 'x')), listened(log, 'a'));
    EXPECT_EQ(output.pendingBytes(), 2008 + 3 * ChannelOutput::entryBytes) << "two pieces and a promise";
    output.flush();
    output.consume(4);
    EXPECT_EQ(output.pendingBytes(), 2004 + 3 * ChannelOutput::entryBytes);
    output.consume(4);
    EXPECT_EQ(output.pendingBytes(), 2000 + 2 * ChannelOutput::entryBytes);
    output.consume(2000);
    EXPECT_EQ(output.pendingBytes(), 0u);
    EXPECT_EQ(log, "a");
}

TEST(ChannelOutput, SmallWritesAreJoinedAndTheirBytesStayInOrder) {
    ChannelOutput output;
    std::string expected;
    for (int i = 0; i < 16; ++i) {
        const std::string answer = "answer " + std::to_string(i) + std::string(120, '.');
        expected += answer;
        output.write(Buffer::copyOf(answer), {});
    }
    output.flush();
    EXPECT_EQ(output.pieces(), 0u);
    EXPECT_EQ(output.single(), expected);
}

TEST(ChannelOutput, ASharedPieceIsNeverWrittenInto) {
    ChannelOutput output;
    Buffer cached = Buffer::copyOf("cached");
    output.write(cached.share(), {});
    output.write(Buffer::copyOf("more"), {});
    output.flush();
    EXPECT_EQ(gathered(output), "cachedmore");
    EXPECT_EQ(cached.view(), "cached");
    cached.append("X");
    EXPECT_EQ(gathered(output), "cachedmore");
}

TEST(ChannelOutput, LargeWritesAreNotCopied) {
    ChannelOutput output;
    Buffer large = Buffer::copyOf(std::string(5000, 'x'));
    const char* bytes = large.readData();
    output.write(Buffer::copyOf("small"), {});
    output.write(std::move(large), {});
    output.flush();
    iovec pieces[4];
    ASSERT_EQ(output.gather(pieces, 4, 1 << 20), 2u);
    EXPECT_EQ(pieces[1].iov_base, bytes);
}

TEST(ChannelOutput, GatherKeepsToItsLimits) {
    ChannelOutput output;
    for (int i = 0; i < 3; ++i) output.write(Buffer::copyOf(std::string(2000, char('a' + i))), {});
    output.flush();
    iovec pieces[2];
    EXPECT_EQ(output.gather(pieces, 2, 1 << 20), 2u);
    EXPECT_EQ(gathered(output, 2500), std::string(2000, 'a') + std::string(500, 'b'));
}

TEST(ChannelOutput, C2_FailAllFailsFlushedAndUnflushedWritesInOrder) {
    ChannelOutput output;
    std::string log;
    output.write(Buffer::copyOf("a"), listened(log, 'a'));
    output.flush();
    output.write(Buffer::copyOf("b"), listened(log, 'b'));
    output.failAll(std::make_exception_ptr(std::runtime_error("closed")));
    EXPECT_EQ(log, "AB");
    EXPECT_EQ(output.pendingBytes(), 0u);
    EXPECT_TRUE(output.empty());
}

TEST(ChannelOutput, W2_ACancelledUnflushedWriteIsSkippedAndAFlushedOneCannotBeCancelled) {
    ChannelOutput output;
    const ChannelPromise middle = ChannelPromise::detached();
    const ChannelPromise last = ChannelPromise::detached();
    output.write(Buffer::copyOf("one "), {});
    output.write(Buffer::copyOf("two "), ChannelPromise(middle));
    output.write(Buffer::copyOf("three"), ChannelPromise(last));
    EXPECT_TRUE(middle.future().cancel());
    output.flush();
    EXPECT_EQ(gathered(output), "one three");
    EXPECT_EQ(output.pendingBytes(), 9 + ChannelOutput::entryBytes);
    EXPECT_FALSE(last.future().cancel());
    output.consume(9);
    EXPECT_TRUE(last.future().success());
}

TEST(ChannelOutput, AListenerMayAddAndFlushWhileBytesAreConsumed) {
    ChannelOutput output;
    const ChannelPromise first = ChannelPromise::detached();
    first.addListener([&](const ChannelFuture&) {
        output.write(Buffer::copyOf("again"), {});
        output.flush();
    });
    output.write(Buffer::copyOf("x"), ChannelPromise(first));
    output.flush();
    output.consume(1);
    EXPECT_EQ(gathered(output), "again");
}

TEST(ChannelOutput, WholeMessagesAreTakenOneByOneAndNeverJoined) {
    ChannelOutput output;
    output.takeWholeMessages();
    std::string log;
    output.write(Buffer::copyOf("a"), listened(log, 'a'));
    output.write(std::string("text"), listened(log, 'b'));
    Message message;
    EXPECT_FALSE(output.takeMessage(message));
    output.flush();
    EXPECT_FALSE(output.empty());
    EXPECT_TRUE(output.takeMessage(message));
    EXPECT_EQ(message.get<Buffer>().view(), "a");
    EXPECT_EQ(log, "a");
    EXPECT_TRUE(output.takeMessage(message));
    EXPECT_EQ(message.get<std::string>(), "text");
    EXPECT_TRUE(output.empty());
}

TEST(ChannelOutput, APromiseOfAnEncoderCoversExactlyTheBytesBeforeIt) {
    ChannelOutput output;
    std::string log;
    output.append("head");
    output.append(Buffer::copyOf(std::string(2000, 'b')));
    output.append("end");
    output.mark(listened(log, 'a'));
    output.append("next");
    output.mark(listened(log, 'b'));
    output.mark({});
    output.flush();
    output.consume(2006);
    EXPECT_EQ(log, "");
    output.consume(1);
    EXPECT_EQ(log, "a");
    output.consume(4);
    EXPECT_EQ(log, "ab");
    EXPECT_EQ(output.pendingBytes(), 0u);
}

TEST(ChannelOutput, WhatHasBeenAppendedCanBeRemovedUntilItIsFlushedOrMarked) {
    ChannelOutput output;
    output.append("kept");
    const std::uint64_t begin = output.position();
    output.append("small");
    output.append(Buffer::copyOf(std::string(5000, 'l')));
    output.append(Buffer::copyOf(std::string(5000, 'm')));
    output.append("small");
    EXPECT_TRUE(output.cutTo(begin));
    EXPECT_EQ(output.position(), begin);
    output.flush();
    EXPECT_EQ(output.single(), "kept");

    output.append("more");
    EXPECT_FALSE(output.cutTo(begin - 1)) << "flushed";
    output.mark(ChannelPromise::detached());
    EXPECT_FALSE(output.cutTo(begin)) << "marked";
    EXPECT_TRUE(output.cutTo(output.position()));
    output.flush();
    EXPECT_EQ(gathered(output, 100), "keptmore");
}

TEST(ChannelOutput, RoomThatIsNotUsedAddsNothing) {
    ChannelOutput output;
    output.append("one");
    output.room(10'000);
    output.append("two");
    output.flush();
    EXPECT_EQ(gathered(output), "onetwo");
}

// ---- random programs, compared with a string ----

class RandomProgram {
  public:
    explicit RandomProgram(unsigned seed) : random_(seed) { output_.share(block_, loop_, listener_); }

    void run() {
        for (int step = 0; step < 300; ++step) doStep();
        flush();
        while (!sent()) consume();
        EXPECT_EQ(output_.pendingBytes(), 0u);
        EXPECT_EQ(completed_, expected_) << "the promises, in the order of their bytes";
        output_.leaveBlock();
        loop_.runFlushPoint();
        EXPECT_EQ(block_.users(), 0u);
    }

  private:
    struct Write {
        std::size_t begin, end;
        ChannelPromise promise;
    };
    // Moves the tail out of the block, as a channel does.
    struct Listener final : FlushPointListener {
        explicit Listener(ChannelOutput& its) : output(its) {}
        void onFlushPoint() noexcept override { output.leaveBlock(); }
        ChannelOutput& output;
    };

    std::size_t below(std::size_t most) { return random_() % most; }
    std::string bytes(std::size_t size) {
        std::string text(size, ' ');
        for (char& byte : text) byte = static_cast<char>('a' + next_++ % 26);
        return text;
    }
    std::size_t anySize() {
        constexpr std::size_t largest[] = {1, 20, 300, 1025, 5000, 20'000};
        return below(largest[below(std::size(largest))] + 1);
    }
    ChannelPromise promise() {
        const int number = promises_++;
        ChannelPromise made = ChannelPromise::detached();
        made.addListener([this, number](const ChannelFuture& done) {
            if (done.success()) completed_.push_back(number);
        });
        return made;
    }
    void doStep() {
        switch (below(10)) {
            case 0: return append();
            case 1: return encode();
            case 2: return write();
            case 3: return mark();
            case 4: return flush();
            case 5: return output_.pin();
            case 6: return loop_.runFlushPoint();
            case 7: return cancel();
            case 8: return undo();
            default: return consume();
        }
    }
    void append() {
        const std::string text = bytes(anySize());
        below(2) != 0 ? output_.append(std::string_view(text)) : output_.append(Buffer::copyOf(text));
        all_ += text;
    }
    void encode() {
        const std::string text = bytes(anySize());
        if (text.empty()) return;
        text.copy(output_.room(text.size() + below(10)), text.size());
        output_.produced(text.size());
        all_ += text;
    }
    void undo() {
        const std::uint64_t begin = output_.position();
        const std::string before = all_;
        for (std::size_t i = below(4); i > 0; --i) below(2) != 0 ? append() : encode();
        EXPECT_TRUE(output_.cutTo(begin));
        all_ = before;
    }
    void write() {
        const std::string text = bytes(anySize());
        Write write{all_.size(), all_.size() + text.size(), {}};
        numbers_.push_back(promises_);
        write.promise = promise();
        all_ += text;
        output_.write(Buffer::copyOf(text), ChannelPromise(write.promise));
        unflushed_.push_back(std::move(write));
    }
    void mark() {
        numbers_.push_back(promises_);
        output_.mark(promise());
        unflushed_.push_back(Write{all_.size(), all_.size(), {}});
    }
    // Only a write can be cancelled.
    void cancel() {
        if (unflushed_.empty()) return;
        Write& write = unflushed_[below(unflushed_.size())];
        if (!write.promise.isVoid()) write.promise.future().cancel();
    }
    void flush() {
        std::size_t gone = 0;
        for (std::size_t i = 0; i < unflushed_.size(); ++i) {
            Write& write = unflushed_[i];
            if (!write.promise.isVoid() && write.promise.cancelled()) {
                all_.erase(write.begin - gone, write.end - write.begin);
                gone += write.end - write.begin;
            } else {
                expected_.push_back(numbers_[i]);
            }
        }
        unflushed_.clear();
        numbers_.clear();
        output_.flush();
        if (output_.empty()) output_.completeWritten();
        flushed_ = all_.size();
        compare();
    }
    bool sent() const { return sent_ == flushed_; }
    void compare() {
        const std::string expected = all_.substr(sent_, flushed_ - sent_);
        ASSERT_EQ(output_.flushedBytes(), expected.size());
        EXPECT_TRUE(gathered(output_, 1 << 30) == expected.substr(0, gathered(output_, 1 << 30).size()));
        const std::string_view single = output_.single();
        EXPECT_TRUE(single.empty() || single == expected);
    }
    void consume() {
        const std::size_t bytes = below(std::min<std::size_t>(flushed_ - sent_, 7000) + 1);
        report(bytes);
        if (sent_ < flushed_ && bytes == 0) return report(1);
        compare();
    }
    void report(std::size_t bytes) {
        if (output_.isPlain()) {
            EXPECT_EQ(output_.consumePlain(bytes), bytes == flushed_ - sent_);
        } else {
            output_.consume(bytes);
        }
        sent_ += bytes;
    }

    std::mt19937 random_;
    ManualClock clock_;
    EventLoop loop_{clock_};
    detail::OutputBlock block_;
    ChannelOutput output_;
    Listener listener_{output_};
    std::string all_;  // that has been appended, without what was cancelled
    std::size_t sent_ = 0, flushed_ = 0;
    unsigned next_ = 0;
    int promises_ = 0;
    std::vector<Write> unflushed_;
    std::vector<int> numbers_;  // of the promises of unflushed_
    std::vector<int> expected_, completed_;
};

TEST(ChannelOutput, RandomProgramsSendWhatAStringWould) {
    for (unsigned seed = 1; seed <= 200 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        RandomProgram(seed).run();
    }
}

}  // namespace
}  // namespace weft
