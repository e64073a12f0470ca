// Each allocation of a lookup fails once, on the caller's thread and on the resolver's: the call throws or its future
// completes, and no thread of the resolver ends the process or leaks a block.
#include <weft/framework/thread_pool_resolver.hpp>

#include <string>
#include <vector>

#include <netdb.h>

#include "exhaustion/exhaustion_test.hpp"

namespace weft::exhaustion {
namespace {

using Addresses = Resolver::Addresses;

const std::string longName = "a-name-that-is-too-long-for-a-short-string.test";
const std::string noName = "none-of-this-name-that-is-too-long-for-a-short-string.test";

class ResolverExhaustion : public ExhaustionTest {
  protected:
    static Addresses lookUp(const std::string& host) {
        if (host.starts_with("none")) throw SystemError(ErrorCode(EAI_NONAME, resolverCategory()));
        return {SocketAddress::loopbackV4(0), SocketAddress("::1", 0)};
    }

    // Each future completes: with the addresses, with the lookup's error, or with an out-of-memory error.
    static void expectAnswer(const Future<Addresses>& answer, const std::string& host) {
        answer.await();
        if (answer.error() == nullptr) {
            EXPECT_EQ(answer.get().size(), 2u);
            EXPECT_EQ(host, longName);
            return;
        }
        try {
            std::rethrow_exception(answer.error());
        } catch (const std::bad_alloc&) {
        } catch (const SystemError& error) {
            // EAGAIN: a thread could not be started.
            const bool expected = error.code() == fromErrno(EAGAIN) ||
                                  (host == noName && error.code() == ErrorCode(EAI_NONAME, resolverCategory()));
            EXPECT_TRUE(expected) << error.what();
        }
    }

    // Makes calls that wait together, then one that uses their cached answer, if there is one.
    static void ask(const std::string& host, const ResolverOptions& options) {
        ThreadPoolResolver resolver(options, lookUp);
        std::vector<Future<Addresses>> answers;
        answers.reserve(3);
        for (int i = 0; i < 2; ++i) answers.push_back(resolver.resolve(host, 80));
        for (const auto& answer : answers) answer.await();
        answers.push_back(resolver.resolve(host, 443));
        for (const auto& answer : answers) expectAnswer(answer, host);
    }
};

TEST_F(ResolverExhaustion, ALookupAnswersOrFails) {
    sweep(20, [] { ask(longName, {.threads = 1}); });
}

TEST_F(ResolverExhaustion, AFailureWhoseTextCannotBeAllocatedIsStillReported) {
    sweep(20, [] { ask(noName, {.threads = 1}); });
}

TEST_F(ResolverExhaustion, WithoutTimeoutsALookupAnswersOrFails) {
    sweep(15, [] { ask(longName, {.threads = 2, .timeout = Duration::zero()}); });
}

// Several names at once, each on a thread of its own.
TEST_F(ResolverExhaustion, EachOfSeveralNamesAnswersOrFails) {
    sweep(30, [] {
        ThreadPoolResolver resolver({.threads = 3}, lookUp);
        std::vector<Future<Addresses>> answers;
        answers.reserve(3);
        for (const char* name : {"a", "b", "c"}) answers.push_back(resolver.resolve(name + longName, 80));
        for (const auto& answer : answers) {
            answer.await();
            if (answer.error() == nullptr) {
                EXPECT_EQ(answer.get().size(), 2u);
            }
        }
    });
}

TEST_F(ResolverExhaustion, ANumericHostAnswersOrFails) {
    sweep(1, [] {
        ThreadPoolResolver resolver({}, lookUp);
        const Future<Addresses> answer = resolver.resolve("127.0.0.1", 80);
        answer.await();
        if (answer.error() == nullptr) {
            EXPECT_EQ(answer.get().size(), 1u);
        }
    });
}

}  // namespace
}  // namespace weft::exhaustion
