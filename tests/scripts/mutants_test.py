#!/usr/bin/env python3
"""Tests of tests/mutants: what counts as a kill; every rule of docs/reference/netty.md has a planted defect, or a
reason why it has none."""

import importlib.machinery
import importlib.util
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MUTANTS = os.path.join(ROOT, 'tests', 'mutants')


def runner():
    loader = importlib.machinery.SourceFileLoader('mutants_run', os.path.join(ROOT, 'tests', 'mutants', 'run'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('mutants_run', loader))
    sys.modules['mutants_run'] = module
    loader.exec_module(module)
    return module


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


BEGUN = '[ RUN      ] Suite.Name\n'


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.run_ = runner()

    def verdict(self, status, said):
        return self.run_.verdictOf('Suite.Name', status, said, 10)

    def test_the_failed_line_of_the_named_test_kills(self):
        self.assertEqual(self.verdict(1, BEGUN + 'x.cpp:3: Failure\n[  FAILED  ] Suite.Name (3 ms)\n'), 'killed')
        self.assertEqual(self.verdict(1, BEGUN + '[  FAILED  ] Suite.Name, where GetParam() = 4 (3 ms)\n'), 'killed')

    def test_the_end_of_the_program_or_no_end_inside_the_named_test_kills(self):
        self.assertEqual(self.verdict(-6, BEGUN + 'assertion failed\n'), 'killed, by signal 6')
        self.assertEqual(self.verdict(None, BEGUN), 'killed, hung 10 s')

    def test_nothing_else_kills(self):
        for status, said in ((0, BEGUN + '[       OK ] Suite.Name (1 ms)\n'),
                             (127, 'sh: not found\n'),
                             (1, 'error while loading shared libraries\n'),
                             (-11, ''),
                             (None, ''),
                             (-11, BEGUN + '[       OK ] Suite.Name (1 ms)\n'),
                             (1, BEGUN + '[       OK ] Suite.Name (1 ms)\n'),
                             (1, BEGUN),
                             (1, BEGUN + '[  FAILED  ] Suite.NameOfAnother (3 ms)\n'),
                             (1, '[  FAILED  ] Other.Name (3 ms)\n')):
            self.assertFalse(self.verdict(status, said).startswith('killed'), (status, said))

    def test_a_defect_gets_at_least_ten_seconds_and_never_more_than_a_test_that_must_pass(self):
        self.assertEqual(self.run_.limitFor(0.01), 10)
        self.assertEqual(self.run_.limitFor(0.3), 30)
        self.assertEqual(self.run_.limitFor(5), self.run_.PATIENCE)


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.run_ = runner()

    def outcome(self, verdicts):
        self.left = [(verdict, f'output {n}') for n, verdict in enumerate(verdicts)]
        return self.run_.outcomeOf(lambda: self.left.pop(0))

    def test_a_defect_that_is_noticed_at_once_is_run_once(self):
        self.assertEqual(self.outcome(['killed', 'SURVIVES']), ('killed', 'output 0'))
        self.assertEqual(len(self.left), 1)

    def test_a_defect_that_was_missed_is_killed_if_half_of_ten_runs_notice_it(self):
        self.assertEqual(self.outcome(5 * ['SURVIVES'] + 5 * ['killed']), ('killed in 5 of 10', 'output 9'))
        self.assertEqual(self.outcome(['SURVIVES'] + 9 * ['killed, by signal 6']), ('killed in 9 of 10', 'output 9'))
        self.assertEqual(self.outcome(6 * ['SURVIVES'] + 4 * ['killed']), ('SURVIVES', 'output 0'))

    def test_a_program_that_fails_for_another_reason_gets_no_second_look(self):
        self.assertEqual(self.outcome(['ENDS WITH STATUS 1', 'killed'])[0], 'ENDS WITH STATUS 1')
        self.assertEqual(self.outcome(['SURVIVES'] + 9 * ['FAILS OUTSIDE THE TEST'])[0], 'SURVIVES')

    def test_with_repeat_each_run_must_notice(self):
        left = [('killed', ''), ('SURVIVES', 'missed'), ('killed', '')]
        self.assertEqual(self.run_.outcomeOfEach(lambda: left.pop(0), 3), ('SURVIVES', 'missed'))


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules = set(re.findall(r'^\| ([A-Z]+-\d+|2\.17) \| ', read('docs', 'reference', 'netty.md'), re.M))
        pages = sorted(name for name in os.listdir(MUTANTS) if name.endswith('.md'))
        text = '\n'.join(read('tests', 'mutants', name) for name in pages)
        headings = re.findall(r'^### ([^:\n]+): ', text, re.M)
        self.planted = {rule.strip() for heading in headings for rule in heading.split(',')}
        self.reasons = dict(re.findall(r'^\* ([A-Z]+-\d+|2\.17): (.+)$', text, re.M))

    def test_every_rule_has_a_planted_defect_or_a_reason(self):
        self.assertGreater(len(self.rules), 70)
        self.assertEqual(sorted(self.rules - self.planted - set(self.reasons)), [])

    def test_a_reason_is_given_only_for_a_rule_without_a_planted_defect(self):
        self.assertEqual(sorted(set(self.reasons) & self.planted), [])
        self.assertEqual(sorted(set(self.reasons) - self.rules), [])


if __name__ == '__main__':
    unittest.main()
