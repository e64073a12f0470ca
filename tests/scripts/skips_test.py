#!/usr/bin/env python3
"""Tests scripts/skips on reports in the formats of ctest and GoogleTest."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

OF_CTEST = '''<?xml version="1.0"?><testsuite name="Linux">
<testcase name="Faults.AStorm" classname="Faults.AStorm" status="notrun">
<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] Faults.AStorm
/weft/tests/examples/faults_test.cpp:64: Skipped
strace is not installed

[  SKIPPED ] Faults.AStorm (5 ms)
</system-out></testcase>
<testcase name="Spawn.AFiber" classname="Spawn.AFiber" status="run"><system-out>fine</system-out></testcase>
</testsuite>'''
OF_GTEST = '''<?xml version="1.0"?><testsuites><testsuite name="Faults">
<testcase name="AStorm" classname="Faults" status="run" result="skipped">
<skipped message="/weft/tests/examples/faults_test.cpp:64&#x0A;needs a program without sanitizers"><![CDATA[...]]></skipped>
</testcase></testsuite></testsuites>'''


class Skips(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def written(self, name, text):
        path = os.path.join(self.place.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def run_(self, *arguments):
        done = subprocess.run([os.path.join(ROOT, 'scripts', 'skips'), *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_a_skip_is_printed_with_its_reason(self):
        status, said = self.run_(self.written('dev.xml', OF_CTEST))
        self.assertEqual((status, said), (0, 'skipped: Faults.AStorm: strace is not installed\n'))

    def test_the_reason_in_a_report_of_googletest_is_found(self):
        _, said = self.run_(self.written('asan/examples.xml', OF_GTEST))
        self.assertEqual(said, 'skipped: Faults.AStorm: needs a program without sanitizers\n')

    def test_a_skip_that_is_not_on_the_list_fails(self):
        allowed = self.written('list', 'asan | Faults.* | without sanitizers\n')
        status, said = self.run_('--allowed', allowed, self.written('dev.xml', OF_CTEST))
        self.assertEqual(status, 1)
        self.assertIn('not on the list: Faults.AStorm', said)

    def test_a_line_of_the_list_accepts_only_its_report_its_test_and_its_reason(self):
        report = self.written('asan/examples.xml', OF_GTEST)
        for line, status in (('asan* | Faults.* | without sanitizers', 0), ('* | Faults.AStorm | needs', 0),
                             ('tsan | Faults.* | without sanitizers', 1), ('asan | Spawn.* | without sanitizers', 1),
                             ('asan | Faults.* | not installed', 1)):
            found, said = self.run_('--allowed', self.written('list', line + '\n'), report)
            self.assertEqual(found, status, f'{line}: {said}')

    def test_a_line_without_a_reason_is_refused(self):
        status, said = self.run_('--allowed', self.written('list', 'asan | Faults.*\n'), self.written('dev.xml', OF_CTEST))
        self.assertEqual(status, 1)
        self.assertIn("expected 'REPORT | TEST | REASON'", said)

    def test_a_report_that_is_missing_or_broken_fails(self):
        self.assertEqual(self.run_(os.path.join(self.place.name, 'none.xml'))[0], 1)
        self.assertEqual(self.run_(self.written('broken.xml', '<testsuite>'))[0], 1)

    def test_the_list_of_ci_can_be_read(self):
        status, said = self.run_('--allowed', os.path.join(ROOT, '.ci', 'skips'), self.written('dev.xml', '<testsuite/>'))
        self.assertEqual((status, said), (0, ''))


if __name__ == '__main__':
    sys.exit(unittest.main())
