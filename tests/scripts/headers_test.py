#!/usr/bin/env python3
"""<weft/weft.hpp> includes every public header, except those listed here, each with the reason. The reference names
only headers and exceptions that exist, and every exception."""

import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ('scheduler', 'pipeline', 'pipeline/http', 'transports', 'framework', 'framework/http')
OTHER_ROOMS = {  # headers that weft/weft.hpp never includes, and where they are
    'weft/asio_io/': 'framework/asio/include',
    'weft/tls': 'transports/tls/include',
    'weft/testing/': 'tests/kit',
}
LEFT_OUT = {
    'weft/framework/connect_advice.hpp': 'used by the bootstraps',
    'weft/pipeline/buffer_pool.hpp': 'used by Buffer',
    'weft/pipeline/codec/delimited_frame_decoder.hpp': 'the base of two decoders, in their sources',
    'weft/pipeline/embedded_channel.hpp': 'for tests',
    'weft/pipeline/handlers/token_bucket.hpp': 'used by the traffic shaping handler',
    'weft/http/detail/header_sections.hpp': 'used by the codecs',
    'weft/http/detail/drain_barrier.hpp': 'used by the codecs',
    'weft/http/json.hpp': 'needs Boost.JSON',
    'weft/http/detail/number_text.hpp': 'used by the codecs',
    'weft/scheduler/io_handler_decorator.hpp': 'for those who wrap an I/O handler',
    'weft/pipeline/ssl_session.hpp': 'in weft/tls.hpp',
    'weft/scheduler/manual_clock.hpp': 'for tests',
    'weft/transports/stream_security.hpp': 'for those who secure streams by something else than weft::tls',
    'weft/transports/epoll/epoll_handle.hpp': 'of the epoll transport',
    'weft/transports/epoll/epoll_io_handler.hpp': 'for those who nest the epoll transport in a poller of their own',
    'weft/transports/tcp_socket.hpp': 'used by TcpStream and TcpListener',
    'weft/transports/uring/uring_calls.hpp': 'for scripts of the io_uring transport',
    'weft/transports/uring/uring_counters.hpp': 'of the io_uring transport',
    'weft/transports/uring/uring_support.hpp': 'behind Transport::explain()',
    'weft/transports/uring/uring_io_handler.hpp': 'for those who nest the io_uring transport in a poller of their own',
}


class Headers(unittest.TestCase):
    def setUp(self):
        self.includes = {}
        for room in ROOMS:
            for path in glob.glob(os.path.join(ROOT, room, 'include', '**', '*.hpp'), recursive=True):
                with open(path, encoding='utf-8') as file:
                    self.includes[path.split('/include/')[1]] = re.findall(r'^#include <(weft/[^>]+)>', file.read(), re.M)

    def reached(self, header, seen):
        if header not in seen:
            seen.add(header)
            for included in self.includes.get(header, []):
                self.reached(included, seen)
        return seen

    def test_one_include_brings_what_applications_use(self):
        reached = self.reached('weft/weft.hpp', set())
        public = {header for header in self.includes if '/detail/' not in header}
        self.assertGreater(len(public), 100)
        self.assertEqual(public - reached - set(LEFT_OUT), set(), 'add these to weft.hpp, or to LEFT_OUT with a reason')

    def test_the_headers_that_the_page_of_names_lists_exist(self):
        with open(os.path.join(ROOT, 'docs', 'reference', 'netty.md'), encoding='utf-8') as file:
            named = set(re.findall(r'`(weft/[a-z_/]+\.hpp)`', file.read()))
        self.assertGreater(len(named), 10)
        self.assertEqual(named - set(self.includes), set())

    def test_the_index_of_headers_names_what_exists_and_marks_what_the_umbrella_leaves_out(self):
        with open(os.path.join(ROOT, 'docs', 'reference', 'headers.md'), encoding='utf-8') as file:
            named = dict(re.findall(r'`(weft/[a-z_/]+\.hpp)`( \*)?', file.read()))
        self.assertGreater(len(named), 80)
        others = {name for name in named if name.startswith(tuple(OTHER_ROOMS))}
        for name in others:
            kept = next(folder for start, folder in OTHER_ROOMS.items() if name.startswith(start))
            self.assertTrue(os.path.exists(os.path.join(ROOT, kept, name)), name)
        self.assertEqual(set(named) - others - set(self.includes), set())
        reached = self.reached('weft/weft.hpp', set())
        self.assertEqual({name for name in set(named) - others if (name in reached) == bool(named[name])}, set())

    def test_every_exception_is_on_the_page_of_errors(self):
        with open(os.path.join(ROOT, 'docs', 'reference', 'errors.md'), encoding='utf-8') as file:
            named = set(re.findall(r'`(?:http::)?(\w+)`', file.read()))
        found = set()
        for path in glob.glob(os.path.join(ROOT, '*', 'include', '**', '*.hpp'), recursive=True):
            with open(path, encoding='utf-8') as file:
                found.update(re.findall(r'^class (\w+(?:Exception|Error))\b', file.read(), re.M))
        self.assertGreater(len(found), 12)
        self.assertEqual(found - named, set())

    def test_what_the_list_names_exists(self):
        self.assertEqual(set(LEFT_OUT) - set(self.includes), set())


if __name__ == '__main__':
    unittest.main()
