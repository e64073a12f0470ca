// USDT probes of the provider `weft`, for bpftrace, perf and SystemTap; each costs a nop and an ELF note. Compiled out
// if sys/sdt.h (systemtap-sdt-dev) is not installed. docs/guide/tracing.md lists them.
#pragma once

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define WEFT_PROBE1(name, a) DTRACE_PROBE1(weft, name, a)
#define WEFT_PROBE2(name, a, b) DTRACE_PROBE2(weft, name, a, b)
#define WEFT_PROBE3(name, a, b, c) DTRACE_PROBE3(weft, name, a, b, c)
#else
#define WEFT_PROBE1(name, a) static_cast<void>(0)
#define WEFT_PROBE2(name, a, b) static_cast<void>(0)
#define WEFT_PROBE3(name, a, b, c) static_cast<void>(0)
#endif
