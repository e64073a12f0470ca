// ThisBuild: what the library and every program that uses it must be built with alike. It is a parameter of the
// constructors of groups, so that a program built otherwise does not link, and the linker's error names the difference.
#pragma once

namespace weft::detail {

struct AddressSanitizer;  // its fibers must be announced to it when stacks are switched
struct ThreadSanitizer;   // likewise
struct NoSanitizer;
struct DebugContainers;  // _GLIBCXX_DEBUG: standard containers have another layout
struct PlainContainers;

#if defined(__has_feature)
#define WEFT_HAS_FEATURE(feature) __has_feature(feature)
#else
#define WEFT_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || WEFT_HAS_FEATURE(address_sanitizer)
using ThisSanitizer = AddressSanitizer;
#elif defined(__SANITIZE_THREAD__) || WEFT_HAS_FEATURE(thread_sanitizer)
using ThisSanitizer = ThreadSanitizer;
#else
using ThisSanitizer = NoSanitizer;
#endif
#undef WEFT_HAS_FEATURE
#ifdef _GLIBCXX_DEBUG
using TheseContainers = DebugContainers;
#else
using TheseContainers = PlainContainers;
#endif

template <class Sanitizer, class Containers>
struct Build {};
using ThisBuild = Build<ThisSanitizer, TheseContainers>;

}  // namespace weft::detail
