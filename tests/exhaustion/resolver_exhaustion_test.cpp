// Every allocation of a lookup fails once, on the caller's thread and on the resolver's: the caller is told, and no
// thread of the resolver ends the process.
#include <weft/framework/thread_pool_resolver.hpp>

#include <gtest/gtest.h>

#include <new>
#include <string>

#include <netdb.h>

#include "exhaustion/allocation_faults.hpp"

namespace weft::exhaustion {
namespace {

using Addresses = Resolver::Addresses;

Addresses lookUp(const std::string& host) {
    if (host.starts_with("none")) throw SystemError(ErrorCode(EAI_NONAME, resolverCategory()));
    return {SocketAddress::loopbackV4(0), SocketAddress("::1", 0)};
}

// Two callers and an answer that is used again. Every future completes, with the addresses or with an error.
int askThreeTimes(const std::string& host) {
    ResolverOptions options;
    options.threads = 1;
    int answered = 0;
    try {
        ThreadPoolResolver resolver(options, lookUp);
        for (int i = 0; i < 3; ++i) {
            const Future<Addresses> answer = resolver.resolve(host, 80);
            answer.await();
            answered += answer.error() == nullptr;
        }
    } catch (const std::bad_alloc&) {
    }
    return answered;
}

std::uint64_t sweep(const std::string& host, int answers) {
    EXPECT_EQ(askThreeTimes(host), answers);
    for (std::uint64_t number = 1;; ++number) {
        const FailingAllocation failing(number);
        askThreeTimes(host);
        if (!failing.hasFailed()) return number - 1;
    }
}

TEST(ResolverExhaustion, WhatCannotBeAllocatedFailsTheCallAndNotTheProcess) {
    EXPECT_GT(sweep("a-name-that-is-too-long-for-a-short-string.test", 3), 20u);
}

TEST(ResolverExhaustion, NorDoesAFailureWhoseTextCannotBeAllocated) {
    EXPECT_GT(sweep("none-of-this-name-that-is-too-long-for-a-short-string.test", 0), 20u);
}

}  // namespace
}  // namespace weft::exhaustion
