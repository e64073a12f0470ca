#!/usr/bin/env python3
"""What each source file of an application pays for `#include <weft/weft.hpp>`: the number of preprocessed lines has a
limit, and no public header includes one of the heavy headers listed here.

    header_cost_test.py [COMPILER [DIRECTORY_OF_BOOST]]

The number depends on the compiler and its standard library. Other compilers than g++ 12, which the limit was measured
with, skip that test; the other one needs no compiler."""

import collections
import glob
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ('scheduler', 'pipeline', 'pipeline/http', 'transports', 'framework', 'framework/http')
GIVEN = [sys.argv.pop(1) for argument in sys.argv[1:3] if not argument.startswith('-')]
COMPILER = GIVEN[0] if GIVEN else 'g++'
INCLUDES = [*(os.path.join(ROOT, room, 'include') for room in ROOMS), *GIVEN[1:]]
MEASURED_WITH = ('g++', 12)
# Measured: 113,093 with http::Service, which is what most servers are made of. The rest is for new headers of Weft; each header in HEAVY, except <iostream>, would exceed it.
LIMIT = 113_500
# The lines that each would add, with g++ 12.
HEAVY = {
    'cmath': 8_619, 'complex': 10_298, 'execution': 9_852, 'filesystem': 7_374, 'fstream': 2_582, 'future': 1_947,
    'immintrin.h': 45_206, 'iomanip': 4_866, 'iostream': 34, 'locale': 4_312, 'random': 17_518, 'ranges': 4_507,
    'regex': 14_370, 'spdlog/spdlog.h': 20_555, 'valarray': 12_036, 'x86intrin.h': 46_377,
}
TO_DO = ('Move the include into a source file, declare the name only, or use something smaller. If applications need '
         'the header, raise LIMIT and give the reason in the commit.')


def run(*arguments, source):
    done = subprocess.run([COMPILER, '-std=c++20', *arguments, '-E', '-x', 'c++', '-'], input=source, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f'{COMPILER} ended with status {done.returncode}: {done.stderr}')
    return done.stdout


def compiler():
    """The compiler's name and major version."""
    macros = dict(re.findall(r'^#define (__GNUC__|__clang__|__clang_major__) (\d+)$', run('-dM', source=''), re.M))
    return ('clang', int(macros['__clang_major__'])) if '__clang__' in macros else ('g++', int(macros['__GNUC__']))


def foreign(lines):
    """Counter of (header of another project, the header of Weft that includes it first): lines with all it includes."""
    counts, includer, stack = collections.Counter(), {}, []
    for line in lines:
        marker = re.match(r'# \d+ "([^"]+)"(?: (\d))?', line)
        if marker and marker[2] == '1':
            stack.append(marker[1])
        elif marker and marker[2] == '2':
            stack.pop()
        outermost = next((i for i, path in enumerate(stack) if not path.startswith(ROOT)), None)
        if outermost:
            header = stack[outermost]
            counts[header, includer.setdefault(header, os.path.relpath(stack[outermost - 1], ROOT))] += 1
    return counts


class HeaderCost(unittest.TestCase):
    def test_one_include_costs_no_more_lines_than_the_limit(self):
        found = compiler()
        if found != MEASURED_WITH:
            self.skipTest(f'{COMPILER} is {found}, the limit is for {MEASURED_WITH}')
        lines = run(*(f'-I{path}' for path in INCLUDES), source='#include <weft/weft.hpp>\n').splitlines()
        self.assertGreater(len(lines), LIMIT // 2, 'the headers were not found')
        most = '\n'.join(f'  {count:7,} {header}, included by {by}' for (header, by), count in foreign(lines).most_common(12))
        self.assertLessEqual(len(lines), LIMIT, f'\n#include <weft/weft.hpp> is {len(lines):,} preprocessed lines, {LIMIT:,} '
                                                f'are allowed. The headers with the most lines:\n{most}\n{TO_DO}')

    def test_no_public_header_includes_a_heavy_one(self):
        found = []
        headers = [path for room in ROOMS for path in glob.glob(f'{ROOT}/{room}/include/**/*.hpp', recursive=True)]
        self.assertGreater(len(headers), 100)
        for path in headers:
            with open(path, encoding='utf-8') as file:
                for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', file.read(), re.M):
                    if name in HEAVY:
                        found.append(f'{os.path.relpath(path, ROOT)} includes <{name}>, {HEAVY[name]:,} lines')
        self.assertEqual(found, [], TO_DO)


if __name__ == '__main__':
    unittest.main()
