#!/usr/bin/env python3
"""No C++ source or header, tracked or new, has more lines than CONTRIBUTING.md allows."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 400


def sources(root):
    """Paths below root, relative to it. A file that git still knows, but that no longer exists, is left out."""
    listed = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', '*.cpp', '*.hpp'],
                            cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(path for path in set(listed.split('\0')) - {''} if os.path.exists(os.path.join(root, path)))


def too_long(root):
    found = []
    for path in sources(root):
        with open(os.path.join(root, path), 'rb') as file:
            count = sum(1 for _ in file)
        if count > MOST:
            found.append(f'{path} has {count} lines, more than {MOST}: split it by noun, each file with one (CONTRIBUTING.md)')
    return found


@unittest.skipUnless(shutil.which('git'), 'git is missing')
class Sizes(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(os.path.join(ROOT, '.git')), 'not a checkout')
    def test_no_source_is_longer_than_allowed(self):
        self.assertGreater(len(sources(ROOT)), 1000)
        self.assertEqual(too_long(ROOT), [])

    def test_a_longer_file_is_named_with_its_count(self):
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(['git', 'init', '-q', place], check=True)
            for name, count in (('fits.cpp', MOST), ('long.hpp', MOST + 1), ('page.md', MOST + 1), ('made.cpp', MOST + 1)):
                with open(os.path.join(place, name), 'w', encoding='utf-8') as file:
                    file.write('//\n' * count)
            with open(os.path.join(place, '.gitignore'), 'w', encoding='utf-8') as file:
                file.write('made.cpp\n')
            self.assertEqual([text.split(':')[0] for text in too_long(place)], ['long.hpp has 401 lines, more than 400'])


if __name__ == '__main__':
    unittest.main()
