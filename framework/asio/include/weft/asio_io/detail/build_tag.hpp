// ThisAsio: what of Asio's macros the library and every program that uses it must define alike, because it changes the
// layout of Asio's objects, which both use. It is a parameter of the constructors of Context and ContextGroup, so that
// a program with other macros does not link, and the linker's error names the difference.
#pragma once

#include <cstddef>

#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/scheduler/detail/build_tag.hpp>

namespace weft::asio_io::detail {

struct HandlerTracking;  // BOOST_ASIO_ENABLE_HANDLER_TRACKING or BOOST_ASIO_CUSTOM_HANDLER_TRACKING
struct NoHandlerTracking;
struct IoUringFiles;  // BOOST_ASIO_HAS_IO_URING
struct NoIoUringFiles;

#if defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING) || defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
using ThisTracking = HandlerTracking;
#else
using ThisTracking = NoHandlerTracking;
#endif
#ifdef BOOST_ASIO_HAS_IO_URING
using TheseFiles = IoUringFiles;
#else
using TheseFiles = NoIoUringFiles;
#endif

// The sizes, in bytes, catch the macros that have no name here, such as BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE.
template <class Build, class Tracking, class Files, std::size_t operationSize, std::size_t threadSize,
          std::size_t schedulerSize, std::size_t reactorSize>
struct AsioMacros {};
using ThisAsio = AsioMacros<weft::detail::ThisBuild, ThisTracking, TheseFiles, sizeof(AsioOperation),
                            sizeof(AsioThread), sizeof(AsioScheduler), sizeof(AsioReactor)>;

}  // namespace weft::asio_io::detail
