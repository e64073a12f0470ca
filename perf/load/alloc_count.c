// LD_PRELOAD library that counts what a program asks of the heap, and the bytes that it copies: questions answered: how
// many allocations per request, and does the payload move in user space? A copy is a memcpy, memmove or mempcpy of 512
// bytes or more, so what a compiler inlines and what moves as bookkeeping is not in it.
// Prints one line {"malloc": .., "calloc": .., "realloc": .., "aligned": .., "free": .., "copied": .., "total": ..} to
// stderr, where "total" is of allocations, or
// appends it to the file named by ALLOC_COUNT_FILE, at exit and at each SIGUSR1 (so a steady state can be taken out
// of the middle of a run). glibc only: it forwards to the __libc_ entry points, so nothing has to be looked up.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

enum { kMalloc, kCalloc, kRealloc, kAligned, kFree, kCopied, kKinds };
enum { kLeastCopy = 512 };
static const char* const kNames[kKinds] = {"malloc", "calloc", "realloc", "aligned", "free", "copied"};
static atomic_ulong counts[kKinds];
static int output = 2;

static void count(int kind) { atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed); }

void* malloc(size_t size) {
    count(kMalloc);
    return __libc_malloc(size);
}

void* calloc(size_t items, size_t size) {
    count(kCalloc);
    return __libc_calloc(items, size);
}

void* realloc(void* block, size_t size) {
    count(kRealloc);
    return __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
    count(kAligned);
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

void* valloc(size_t size) { return memalign((size_t)sysconf(_SC_PAGESIZE), size); }

int posix_memalign(void** result, size_t alignment, size_t size) {
    if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void* const block = memalign(alignment, size);
    if (!block) return ENOMEM;
    *result = block;
    return 0;
}

void free(void* block) {
    if (block) count(kFree);
    __libc_free(block);
}

// With the processor's own string instruction: nothing to look up, and nothing here may call memcpy again.
static void copyUp(void* to, const void* from, size_t size) {
    if (size >= kLeastCopy) atomic_fetch_add_explicit(&counts[kCopied], size, memory_order_relaxed);
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void copyDown(void* to, const void* from, size_t size) {
    if (size >= kLeastCopy) atomic_fetch_add_explicit(&counts[kCopied], size, memory_order_relaxed);
    char* lastTo = (char*)to + size - 1;
    const char* lastFrom = (const char*)from + size - 1;
    __asm__ volatile("std; rep movsb; cld" : "+D"(lastTo), "+S"(lastFrom), "+c"(size) : : "memory");
}

void* memcpy(void* to, const void* from, size_t size) {
    copyUp(to, from, size);
    return to;
}

void* mempcpy(void* to, const void* from, size_t size) {
    copyUp(to, from, size);
    return (char*)to + size;
}

void* memmove(void* to, const void* from, size_t size) {
    if ((char*)to > (const char*)from && (char*)to < (const char*)from + size) copyDown(to, from, size);
    else copyUp(to, from, size);
    return to;
}

// Called from a signal handler: no stdio, no heap.
static char* putText(char* at, const char* text) {
    const size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static char* putField(char* at, const char* name, unsigned long value) {
    char digits[24];
    char* first = digits + sizeof digits;
    *--first = '\0';
    do *--first = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return putText(putText(putText(putText(at, "\""), name), "\": "), first);
}

static void report(void) {
    char line[512];
    char* at = putText(line, "{");
    unsigned long total = 0;
    for (int kind = 0; kind < kKinds; ++kind) {
        const unsigned long value = atomic_load_explicit(&counts[kind], memory_order_relaxed);
        if (kind < kFree) total += value;
        at = putText(putField(at, kNames[kind], value), ", ");
    }
    at = putText(putField(at, "total", total), "}\n");
    if (write(output, line, (size_t)(at - line)) < 0) return;
}

static void onSignal(int signal) {
    (void)signal;
    const int saved = errno;
    report();
    errno = saved;
}

__attribute__((constructor)) static void start(void) {
    const char* const path = getenv("ALLOC_COUNT_FILE");
    if (path) {
        const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd >= 0) output = fd;
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
}

__attribute__((destructor)) static void finish(void) { report(); }
