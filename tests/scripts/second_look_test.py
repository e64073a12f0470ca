#!/usr/bin/env python3
"""Tests of scripts/second_look, which tells faults from luck, and of the ledger tests/luck.tsv."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'support'))

import luck    # noqa: E402


def script():
    loader = importlib.machinery.SourceFileLoader('second_look', os.path.join(ROOT, 'scripts', 'second_look'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('second_look', loader))
    loader.exec_module(module)
    return module


ONE = '[ RUN      ] A.One\na_test.cpp:7: Failure\n2 is not 3\n[  FAILED  ] A.One (3 ms)\n[==========] 1 test from 1 test suite ran. (3 ms total)\n'
WHOLE = ('[ RUN      ] A.One\n[       OK ] A.One (1 ms)\n[ RUN      ] A.Two\na_test.cpp:9: Failure\n[  FAILED  ] A.Two (1 ms)\n'
         '[ RUN      ] A.Three\n[       OK ] A.Three (1 ms)\n')
ENDED = '[==========] 3 tests from 1 test suite ran. (3 ms total)\n'


class Looks(unittest.TestCase):
    def look(self, name, output, passes, cases=()):
        """Whether it is luck, the runs that were asked for, and the names in the ledger."""
        runs, recorded = [], []

        def run(test, filters, times):
            runs.append((test, filters, times))
            return passes(filters), 'what the run printed'

        module = script()
        module.luck = type('Ledger', (), {'record': staticmethod(lambda title, what: recorded.append((title, what)))})
        with contextlib.redirect_stdout(io.StringIO()):
            lucky = module.Look(run, lambda program: list(cases)).isLuck(name, output)
        return lucky, runs, recorded

    def test_a_case_that_passes_twenty_times_is_luck_and_recorded(self):
        lucky, runs, recorded = self.look('A.One', ONE, lambda filters: True)
        self.assertTrue(lucky)
        self.assertEqual(runs, [('A.One', None, 20)])
        self.assertEqual(recorded, [('A.One', 'a_test.cpp:7: Failure 2 is not 3')])

    def test_a_case_that_fails_again_is_a_fault(self):
        self.assertEqual(self.look('A.One', ONE, lambda filters: False)[0::2], (False, []))

    def test_of_a_whole_program_the_cases_that_failed_run_again_alone(self):
        lucky, runs, recorded = self.look('p', WHOLE + ENDED, lambda filters: True)
        self.assertTrue(lucky)
        self.assertEqual(runs, [('p', ['A.Two'], 20)])
        self.assertEqual(recorded[0][0], 'p: A.Two')

    def test_after_the_case_in_which_a_program_ended_the_rest_runs(self):
        output = '[ RUN      ] A.One\n[       OK ] A.One (1 ms)\n[ RUN      ] A.Two\nWARNING: ThreadSanitizer: data race\n'
        cases = ['A.One', 'A.Two', 'A.Three', 'B.Four']
        self.assertEqual(self.look('p', output, lambda filters: True, cases)[1],
                         [('p', ['A.Two'], 20), ('p', ['A.Three', 'B.Four'], 1)])
        self.assertFalse(self.look('p', output, lambda filters: filters == ['A.Two'], cases)[0])

    def test_of_a_part_of_a_program_only_the_rest_of_that_part_runs(self):
        output = '[ RUN      ] A.1\n[       OK ] A.1 (1 ms)\n[ RUN      ] A.3\n'
        runs = self.look('p.2of2', output, lambda filters: True, [f'A.{n}' for n in range(8)])[1]
        self.assertEqual(runs, [('p.1of2', ['A.3'], 20), ('p.1of2', ['A.5', 'A.7'], 1)])    # the first part runs any case

    def test_a_program_that_fails_in_none_of_its_cases_is_a_fault(self):
        output = WHOLE.replace('FAILED  ] A.Two', '     OK ] A.Two') + ENDED + 'SUMMARY: LeakSanitizer: 8 bytes leaked\n'
        self.assertFalse(self.look('p', output, lambda filters: True)[0])


class Reports(unittest.TestCase):
    def failed(self, cases):
        with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
            file.write(f'<testsuite>{cases}</testsuite>')
            file.flush()
            return script().failed(file.name)

    def test_the_tests_that_failed_or_could_not_run_are_read(self):
        self.assertEqual(self.failed('<testcase name="A" status="run"/>'
                                     '<testcase name="B" status="fail"><failure/><system-out>said</system-out></testcase>'
                                     '<testcase name="C" status="notrun"><skipped message="Unable to find executable"/></testcase>'
                                     '<testcase name="D" status="disabled"/>'), [('B', 'said'), ('C', '')])

    def test_what_a_test_skipped_itself_is_no_failure(self):
        self.assertEqual(self.failed('<testcase name="A" status="notrun">'
                                     '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'), [])


class Ledger(unittest.TestCase):
    def test_it_has_rows_of_name_commit_date_and_what_failed(self):
        with open(luck.LEDGER, encoding='utf-8') as file:
            luck.rows(file.read())

    def test_a_row_is_one_line(self):
        with tempfile.NamedTemporaryFile('w+') as file, contextlib.redirect_stdout(io.StringIO()) as said:
            file.write('\t'.join(luck.COLUMNS) + '\n')
            file.flush()
            luck.record('A.One', 'a_test.cpp:7:\tFailure\n\n2 is not 3', file.name)
            file.seek(0)
            rows = luck.rows(file.read())
        self.assertEqual([(row[0], row[3]) for row in rows], [('A.One', 'a_test.cpp:7: Failure 2 is not 3')])
        self.assertEqual(said.getvalue(), 'LUCK: A.One: a_test.cpp:7: Failure 2 is not 3\n')

    def test_without_git_a_row_names_no_commit(self):
        with unittest.mock.patch.dict(os.environ, PATH='/nowhere'):
            self.assertEqual(luck.head(), 'no commit')

    def test_another_text_is_refused(self):
        self.assertRaises(ValueError, luck.rows, 'name\tcommit\n')
        self.assertRaises(ValueError, luck.rows, '\t'.join(luck.COLUMNS) + '\nA.One\tabc\n')


if __name__ == '__main__':
    unittest.main()
