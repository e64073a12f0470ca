// LD_PRELOAD library that counts a program's heap calls and copied bytes. It answers two questions: how many
// allocations does a request take, and is the payload copied in user space? A copy is a memcpy, memmove or mempcpy of
// 512 bytes or more, so copies that the compiler inlines and small bookkeeping moves are not counted. Prints one line
// {"malloc": .., "calloc": .., "realloc": .., "aligned": .., "free": .., "copied": .., "total": ..} to stderr, or
// appends it to the file named by ALLOC_COUNT_FILE, at exit and at each SIGUSR1, so that a steady state can be cut out
// of a run. "total" is the number of allocations. glibc only: it forwards to the __libc_ entry points, which need no
// symbol lookup.
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

enum { mallocCalls, callocCalls, reallocCalls, alignedCalls, freeCalls, copiedBytes, kinds };
enum { leastCopy = 512 };
static const char* const names[kinds] = {"malloc", "calloc", "realloc", "aligned", "free", "copied"};
static atomic_ulong counts[kinds];
static int output = 2;

static void count(int kind) {
    atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed);
}

void* malloc(size_t size) {
    count(mallocCalls);
    return __libc_malloc(size);
}

void* calloc(size_t items, size_t size) {
    count(callocCalls);
    return __libc_calloc(items, size);
}

void* realloc(void* block, size_t size) {
    count(reallocCalls);
    return __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
    count(alignedCalls);
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

void* valloc(size_t size) {
    return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

int posix_memalign(void** result, size_t alignment, size_t size) {
    if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void* const block = memalign(alignment, size);
    if (!block) return ENOMEM;
    *result = block;
    return 0;
}

void free(void* block) {
    if (block) count(freeCalls);
    __libc_free(block);
}

// Uses the processor's string instruction: it needs no symbol lookup, and must not call memcpy again.
static void copyUp(void* to, const void* from, size_t size) {
    if (size >= leastCopy) atomic_fetch_add_explicit(&counts[copiedBytes], size, memory_order_relaxed);
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void copyDown(void* to, const void* from, size_t size) {
    if (size >= leastCopy) atomic_fetch_add_explicit(&counts[copiedBytes], size, memory_order_relaxed);
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
    for (int kind = 0; kind < kinds; ++kind) {
        const unsigned long value = atomic_load_explicit(&counts[kind], memory_order_relaxed);
        if (kind < freeCalls) total += value;
        at = putText(putField(at, names[kind], value), ", ");
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

__attribute__((destructor)) static void finish(void) {
    report();
}
