// WEFT_SANITIZED: defined if this program runs under a sanitizer, with any compiler; and macros that say which one.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_SANITIZED_ADDRESS 1
#elif defined(__SANITIZE_THREAD__)
#define WEFT_SANITIZED_THREAD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_SANITIZED_ADDRESS 1
#elif __has_feature(thread_sanitizer)
#define WEFT_SANITIZED_THREAD 1
#endif
#endif

#if defined(WEFT_SANITIZED_ADDRESS) || defined(WEFT_SANITIZED_THREAD)
#define WEFT_SANITIZED 1
#endif
