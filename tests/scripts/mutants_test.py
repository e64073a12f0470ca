#!/usr/bin/env python3
"""Tests of tests/mutants: what counts as a kill; every rule of docs/reference/rule-tests.md has a planted defect, or a
reason why it has none."""

import os
import re
import select
import sys
import tempfile
import unittest
from dataclasses import replace

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MUTANTS = os.path.join(ROOT, 'tests', 'mutants')
sys.path.insert(0, MUTANTS)

from rig import catalog, selection, verdict, workshop    # noqa: E402


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


BEGUN = '[ RUN      ] Suite.Name\n'


class Verdicts(unittest.TestCase):
    def verdict(self, status, said):
        return verdict.of('Suite.Name', status, said, 10)

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

    def test_a_defect_gets_three_seconds_then_ten_and_never_more_than_a_test_that_must_pass(self):
        self.assertEqual([verdict.limitFor(seconds) for seconds in (0.01, 0.3, 5)], [3, 30, verdict.PATIENCE])
        self.assertEqual([verdict.secondLimitFor(seconds) for seconds in (0.01, 0.3, 5)], [10, 30, verdict.PATIENCE])


class Looks(unittest.TestCase):
    def outcome(self, verdicts):
        self.left = [(verdict, f'output {n}') for n, verdict in enumerate(verdicts)]
        return verdict.ofLooks(self.left.pop(0), lambda: self.left.pop(0))

    def test_a_defect_that_is_noticed_at_once_is_run_once(self):
        self.assertEqual(self.outcome(['killed', 'SURVIVES']), ('killed', 'output 0'))
        self.assertEqual(len(self.left), 1)

    def test_a_test_that_seems_to_hang_runs_again(self):
        self.assertEqual(self.outcome(['killed, hung 3 s', 'killed, hung 10 s', 'SURVIVES']), ('killed, hung 10 s', 'output 1'))
        self.assertEqual(self.outcome(['killed, hung 3 s'] + 10 * ['SURVIVES'])[0], 'SURVIVES')

    def test_a_defect_that_is_missed_ten_times_survives(self):
        self.assertEqual(self.outcome(10 * ['SURVIVES']), ('SURVIVES', 'output 0'))
        self.assertEqual(self.left, [])

    def test_one_that_some_of_ten_looks_miss_is_killed_and_says_in_how_many(self):
        self.assertEqual(self.outcome(9 * ['SURVIVES'] + ['killed']), ('killed in 1 of 10', 'output 9'))
        self.assertEqual(self.outcome(['SURVIVES'] + 9 * ['killed, by signal 6']), ('killed in 9 of 10', 'output 9'))

    def test_a_program_that_fails_for_another_reason_gets_no_second_look(self):
        self.assertEqual(self.outcome(['ENDS WITH STATUS 1', 'killed'])[0], 'ENDS WITH STATUS 1')

    def test_with_repeat_each_round_must_notice(self):
        left = [('killed', ''), ('SURVIVES', 'missed'), ('killed', '')]
        self.assertEqual(verdict.ofRounds(('killed', ''), lambda: left.pop(0), 3), ('SURVIVES', 'missed'))
        self.assertEqual(len(left), 1)


class Selection(unittest.TestCase):
    def setUp(self):
        self.mutants = catalog.listed()

    def with_changes(self, files, before=None):
        """Those that count as changed, if these files differ and these sections stood there before."""
        kept = selection.changedFiles, selection.sectionsAt
        selection.changedFiles = lambda commit: files
        selection.sectionsAt = lambda commit: set(self.mutants if before is None else before)
        try:
            return selection.changedSince('a commit', self.mutants)
        finally:
            selection.changedFiles, selection.sectionsAt = kept

    def test_each_test_is_found_in_a_source(self):
        self.assertEqual([mutant.test for mutant in self.mutants if not catalog.sourcesOf(mutant.test)], [])

    def test_a_defect_is_due_when_its_source_unit_header_test_or_section_has_changed(self):
        self.assertEqual(self.with_changes(set()), [])
        inHeader = next(mutant for mutant in self.mutants if mutant.unit != mutant.file)
        for file in (inHeader.file, inHeader.unit, catalog.sourcesOf(inHeader.test)[0]):
            self.assertIn(inHeader, self.with_changes({file}), file)
        self.assertEqual(self.with_changes(set(), before=self.mutants[1:]), self.mutants[:1])

    def test_all_are_due_when_git_does_not_know_the_commit(self):
        self.assertEqual(self.with_changes(None), self.mutants)

    def test_tenths_and_parts_leave_none_out(self):
        for parts in ([selection.tenth(number, self.mutants) for number in range(10)],
                      [selection.part(f'{k}/7', self.mutants) for k in range(1, 8)]):
            self.assertEqual(sorted(mutant.heading for part in parts for mutant in part),
                             sorted(mutant.heading for mutant in self.mutants))
        for wrong in ('0/3', '4/3', '3', 'x/y'):
            self.assertRaises(SystemExit, selection.part, wrong, self.mutants)

    def test_ci_plants_what_changed_and_then_the_next_tenth(self):
        proved = selection.Proved('commit ' + 40 * 'a' + '\ntenth 9\n')
        kept, selection.changedSince = selection.changedSince, lambda commit, mutants: mutants[:2]
        try:
            due = selection.due(proved, self.mutants)
        finally:
            selection.changedSince = kept
        self.assertEqual(due, self.mutants[:2] + selection.tenth(0, self.mutants)[1:])

    def test_proved_names_a_commit_and_a_tenth(self):
        proved = selection.Proved.read()    # git may not know the commit: then all defects count as changed
        self.assertRegex(proved.commit, '^[0-9a-f]{40}$')
        self.assertIn(proved.tenth, range(10))
        self.assertRaises(SystemExit, selection.Proved, 'commit abc\n')


class Stale(unittest.TestCase):
    def test_a_text_a_source_or_a_test_that_has_moved_is_found_without_a_build(self):
        good = catalog.listed()[0]
        self.assertIsNone(good.stale())
        replaced = lambda **names: catalog.Mutant(**{**vars(good), **names}).stale()
        self.assertIn('is 0 times in', replaced(text='no such text'))
        self.assertIn('there is no scheduler/src/gone.cpp', replaced(file='scheduler/src/gone.cpp'))
        self.assertIn('there is no scheduler/src/gone.cpp', replaced(unit='scheduler/src/gone.cpp'))
        self.assertIn('has a test Suite.Gone', replaced(test='Suite.Gone'))


class Baselines(unittest.TestCase):
    def test_what_does_not_pass_with_the_others_runs_alone(self):
        said = BEGUN + '[       OK ] Suite.Name (12 ms)\n[  FAILED  ] Suite.Other (3 ms)\n'
        baseline = workshop.Baseline('program', 'epoll', ['Suite.Name', 'Suite.Other'])
        kept, workshop.run = workshop.run, lambda program, test, limit, transport: ('', said)
        try:
            baseline.passTogether()
            self.assertEqual(baseline.passed, {'Suite.Name': 0.012})
            self.assertRaisesRegex(catalog.Failure, 'there is no such test', baseline.seconds, 'Suite.Other')
        finally:
            workshop.run = kept


class Runs(unittest.TestCase):
    def test_a_test_that_hangs_ends_with_the_processes_that_it_has_forked(self):
        with tempfile.TemporaryDirectory() as place:
            held, program = os.path.join(place, 'held'), os.path.join(place, 'program')
            os.mkfifo(held)
            with open(program, 'w', encoding='utf-8') as script:
                script.write(f"#!/bin/sh\nexec 3> {held}\necho '{BEGUN.strip()}'\nsleep 600 &\nwait\n")
            os.chmod(program, 0o700)
            reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
            try:
                self.assertEqual(workshop.run(program, 'Suite.Name', 3, 'epoll')[0], 'killed, hung 3 s')
                self.assertTrue(select.select([reader], [], [], 20)[0], 'a process still holds the pipe')
                self.assertEqual(os.read(reader, 1), b'')
            finally:
                os.close(reader)

    def test_a_program_is_looked_for_where_its_room_builds_it(self):
        self.assertEqual(replace(catalog.listed()[0], room='model').program, 'tests/model/weft_model_tests')
        self.assertEqual(replace(catalog.listed()[0], room='property').program, 'tests/weft_property_tests')


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules = set(re.findall(r'^## ([A-Z]+-\d+|2\.17)$', read('docs', 'reference', 'rule-tests.md'), re.M))
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
