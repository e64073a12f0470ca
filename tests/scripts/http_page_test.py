#!/usr/bin/env python3
"""The numbers of cases in docs/reference/http.md are those of the tests: `http_page_test.py [COMPILER]`."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HTTP = os.path.join('tests', 'pipeline', 'http')
COMPILER = 'c++'
TABLES = {'request_cases': 'allRequests', 'body_cases': 'chunkedBodies', 'response_cases': 'allResponses'}
PROGRAM = ''.join(f'#include "{HTTP}/{table}.hpp"\n' for table in TABLES) + \
    '#include <iostream>\nint main() {\n' + \
    ''.join(f'    std::cout << weft::http::test::{name}().size() << "\\n";\n' for name in TABLES.values()) + '}\n'


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def sizes():
    """{table: number of its cases}."""
    with tempfile.TemporaryDirectory() as directory:
        source, program = os.path.join(directory, 'sizes.cpp'), os.path.join(directory, 'sizes')
        with open(source, 'w') as file:
            file.write(PROGRAM)
        includes = [f'-I{os.path.join(ROOT, *path)}' for path in ((), ('scheduler', 'include'), ('pipeline', 'include'), ('pipeline', 'http', 'include'))]
        subprocess.run([COMPILER, '-std=c++20', '-O0', *includes, source, '-o', program], check=True)
        found = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return dict(zip(TABLES, found))


class Counts(unittest.TestCase):
    def setUp(self):
        self.page = ' '.join(read('docs', 'reference', 'http.md').split())

    def test_of_cases_are_the_sizes_of_the_tables(self):
        for table, size in sizes().items():
            self.assertIn(f'`{table}.hpp` ({size})', self.page)

    def test_of_spellings_are_those_of_the_test(self):
        listed = re.search(r'codings = \{(.*?)\};', read(HTTP, 'server_codec_verdict_test.cpp'), re.S)[1]
        strings = re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', listed)    # adjacent literals are one string
        self.assertIn(f'({len(strings)} spellings, ', self.page)

    def test_of_mutations_are_those_of_the_tests(self):
        for of, source in (('request heads', 'request_head_parser_test.cpp'), ('responses', 'response_decoder_test.cpp')):
            rounds = max(int(number.replace("'", '')) for number in re.findall(r"round < ([\d']+)", read(HTTP, source)))
            self.assertIn(f'| {of}, and {rounds:,} mutations of them |', self.page)


if __name__ == '__main__':
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop(1)
    unittest.main()
