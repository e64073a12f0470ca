#!/usr/bin/env python3
"""No source or header of a room includes one of a room above it; only weft::asio includes Asio, only weft::tls OpenSSL: checks the
dependencies that the compiler recorded.

    layers_test.py BUILD_DIRECTORY"""

import re
import subprocess
import sys
import unittest

BUILD = sys.argv.pop(1)
# Each with the rooms whose headers it may include.
ROOMS = {'scheduler': [], 'pipeline': ['scheduler']}
ROOMS['pipeline/http'] = ROOMS['transports'] = ['pipeline', *ROOMS['pipeline']]
ROOMS['transports/tls'] = ['transports', *ROOMS['transports']]
ROOMS['framework'] = ['transports', *ROOMS['transports']]
ROOMS['framework/http'] = ['framework', 'pipeline/http', *ROOMS['framework']]


def included():
    """Object file -> the files that it depends on."""
    notes = subprocess.run(['ninja', '-C', BUILD, '-t', 'deps'], check=True, capture_output=True, text=True).stdout
    files = {}
    for line in notes.splitlines():
        if line.startswith('    '):
            files[current].append(line.strip())
        elif line:
            current = line.split(':')[0]
            files[current] = []
    return files


class Layers(unittest.TestCase):
    def setUp(self):
        self.included = included()

    def of_room(self, room):
        return {name: files for name, files in self.included.items() if re.match(rf'{room}/CMakeFiles/weft_\w+\.dir/', name)}

    def test_a_room_includes_only_those_below_it(self):
        for room, below in ROOMS.items():
            found = set()
            for name, files in self.of_room(room).items():
                rooms = {match[1] for match in (re.search(r'((?:scheduler|pipeline|transports|framework)(?:/http|/asio|/tls)?)/(?:include|src)/', file)
                                                for file in files) if match}
                found |= rooms
                with self.subTest(name):
                    self.assertEqual(rooms - {room, *below}, set())
            self.assertIn(room, found, 'else the search found nothing')

    def test_the_core_rooms_do_not_include_asio(self):
        for room in ROOMS:
            objects = self.of_room(room)
            self.assertTrue(objects, f'no object of {room} is noted in {BUILD}')
            for name, files in objects.items():
                with self.subTest(name):
                    self.assertEqual([f for f in files if 'boost/asio' in f or 'asio_io/' in f], [])

    def test_only_the_tls_room_includes_openssl(self):
        found = {room for room in ROOMS for files in self.of_room(room).values() if any('/openssl/' in file for file in files)}
        self.assertEqual(found, {'transports/tls'})

    def test_the_asio_room_does(self):
        files = [f for name, all in self.included.items() if name.startswith('framework/asio/') for f in all]
        if not files:
            self.skipTest('weft::asio is not built with this Boost')
        self.assertTrue(any('boost/asio/io_context.hpp' in f for f in files), 'so the search above would find it')


if __name__ == '__main__':
    unittest.main()
