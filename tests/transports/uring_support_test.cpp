// UringSupport: detects each missing requirement and names it, so that a user knows what to do.
#include <weft/transports/uring/uring_support.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <liburing.h>
#include <unistd.h>

#include <weft/transports/uring/uring_calls.hpp>

namespace weft::test {
namespace {

// A kernel that refuses one call.
struct RefusingCalls final : UringCalls {
    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        return setupError ? -setupError : UringCalls::setup(entries, ring, parameters);
    }
    int registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept override {
        return buffersError ? -buffersError : UringCalls::registerBufferRing(ring, registration);
    }
    int registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept override {
        const int result = UringCalls::registerProbe(ring, answer, count);
        if (lackedOperation >= 0) answer.ops[lackedOperation].flags = 0;
        return result;
    }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        return enterError ? -enterError : UringCalls::submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override {
        return enterError ? -enterError : UringCalls::submitAndGetEvents(ring);
    }
    int setupError = 0;
    int enterError = 0;
    int buffersError = 0;
    int lackedOperation = -1;
};

// A file that replaces this machine's setting.
class Setting {
  public:
    explicit Setting(const std::string& value) : path_("/tmp/weft_setting_" + std::to_string(::getpid())) {
        std::ofstream(path_) << value << '\n';
    }
    ~Setting() { std::remove(path_.c_str()); }
    UringSurroundings surroundings() const { return {.kernelRelease = "6.12.0", .disabledSetting = path_}; }

  private:
    const std::string path_;
};

bool says(const UringSupport& support, const std::string& part) {
    return support.reason().find(part) != std::string::npos;
}

class UringSupportTest : public testing::Test {
  protected:
    // The answers of a kernel that supports everything; a test removes parts.
    void SetUp() override {
        if (!UringSupport::ofThisProcess().available()) {
            GTEST_SKIP() << "io_uring is not permitted here: " << UringSupport::ofThisProcess().reason();
        }
    }
    RefusingCalls calls;
};

TEST_F(UringSupportTest, WithAllThatIsNeededItIsAvailable) {
    const UringSupport support = UringSupport::probe(calls);
    EXPECT_TRUE(support.available());
    EXPECT_FALSE(support.error());
    EXPECT_NE(support.report().find("io_uring: available"), std::string::npos) << support.report();
    EXPECT_NE(support.report().find("trial: received"), std::string::npos) << support.report();
}

TEST_F(UringSupportTest, AKernelThatIsTooOldIsNamedWithWhatIsNeeded) {
    const UringSupport support = UringSupport::probe(calls, {.kernelRelease = "5.15.0-91-generic"});
    EXPECT_FALSE(support.available());
    EXPECT_EQ(support.error().value(), ENOSYS);
    EXPECT_TRUE(says(support, "5.15.0-91-generic") && says(support, "6.0")) << support.reason();
}

TEST_F(UringSupportTest, AKernelKnownToBeFaultyIsNotUsed) {
    for (const char* release : {"6.6.0", "6.7.12-rc1", "6.8.0-31-generic"})
        EXPECT_FALSE(UringSupport::probe(calls, {.kernelRelease = release}).available()) << release;
    for (const char* release : {"6.0.0", "6.5.13", "6.9.1", "6.60.0", "7.6.0"})
        EXPECT_TRUE(UringSupport::probe(calls, {.kernelRelease = release}).available()) << release;
}

TEST_F(UringSupportTest, TheSettingThatForbidsItToAllIsNamed) {
    const UringSupport support = UringSupport::probe(calls, Setting("2").surroundings());
    EXPECT_EQ(support.error().value(), EPERM);
    EXPECT_TRUE(says(support, "kernel.io_uring_disabled is 2")) << support.reason();
}

TEST_F(UringSupportTest, TheSettingThatPermitsItToAGroupIsNamedWithThatGroup) {
    const Setting setting("1");
    EXPECT_TRUE(UringSupport::probe(calls, setting.surroundings()).available());
    calls.setupError = EPERM;
    const UringSupport support = UringSupport::probe(calls, setting.surroundings());
    EXPECT_TRUE(says(support, "kernel.io_uring_group")) << support.reason();
}

TEST_F(UringSupportTest, ARefusalIsNamedByItsLikelyCause) {
    const std::pair<int, const char*> causes[] = {
        {EPERM, "seccomp"}, {ENOSYS, "ENOSYS"}, {ENOMEM, "RLIMIT_MEMLOCK"}, {EMFILE, "open files"}};
    for (const auto& [error, part] : causes) {
        calls.setupError = error;
        const UringSupport support = UringSupport::probe(calls, Setting("0").surroundings());
        EXPECT_EQ(support.error().value(), error);
        EXPECT_TRUE(says(support, part)) << support.reason();
        EXPECT_NE(support.report().find("not available"), std::string::npos);
    }
}

TEST_F(UringSupportTest, AnOperationThatIsMissingIsNamed) {
    calls.lackedOperation = IORING_OP_SENDMSG;
    EXPECT_TRUE(says(UringSupport::probe(calls), "SENDMSG"));
}

TEST_F(UringSupportTest, WithoutRingsOfBuffersItIsNotAvailable) {
    calls.buffersError = EINVAL;
    const UringSupport support = UringSupport::probe(calls);
    EXPECT_EQ(support.error().value(), EINVAL);
    EXPECT_TRUE(says(support, "buffers")) << support.reason();
}

// As a sandbox that permits io_uring_setup only.
TEST_F(UringSupportTest, WhereTheKernelRefusesToEnterARingItIsNotAvailable) {
    calls.enterError = EPERM;
    const UringSupport support = UringSupport::probe(calls);
    EXPECT_EQ(support.error().value(), EPERM);
    EXPECT_TRUE(says(support, "io_uring_enter")) << support.reason();
}

}  // namespace
}  // namespace weft::test
