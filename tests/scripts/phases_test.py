#!/usr/bin/env python3
"""docs/explanation/testing.md has the phases of .ci/run and of scripts/prove with their minutes, the pages that name the
time of .ci/run name the same one, and tests/proved.tsv has rows of known phases."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CI = 45        # minutes for .ci/run, at most
PHASE = 30     # minutes for a phase of scripts/prove, at most


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def table(title):
    """{first cell: minutes} of the table under this heading of testing.md; the minutes stand in the last cell."""
    section = re.search(rf'^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)', read('docs', 'explanation', 'testing.md'), re.M | re.S)[1]
    rows = [line.strip('| ').split(' | ') for line in section.splitlines() if line.startswith('| ')][1:]
    return {row[0].strip('`'): float(row[-1]) for row in rows}


def phases():
    """The phases of scripts/prove; the parts of `flakes` count as one."""
    script = read('scripts', 'prove')
    return [*re.search(r'^phases=\(([^)]*)\)', script, re.M)[1].split(), 'flakes-N']


class Ci(unittest.TestCase):
    def test_the_table_has_each_phase_in_order(self):
        headings = [text for _, text in re.findall(r'^(?:heading|if inTime \d+) ([\'"])(.*)\1(?:; then)?$', read('.ci', 'run'), re.M)]
        self.assertEqual(headings.pop(), 'all phases')
        self.assertEqual(list(table('What CI runs')), headings)

    def test_the_phases_take_less_than_each_page_says(self):
        self.assertLessEqual(sum(table('What CI runs').values()), CI)
        for path in (('.ci', 'run'), ('CONTRIBUTING.md',), ('docs', 'explanation', 'testing.md')):
            self.assertIn(f'at most {CI} minutes', ' '.join(read(*path).split()), path)


class Prove(unittest.TestCase):
    def test_the_table_has_each_phase_in_order(self):
        self.assertEqual(list(table('What scripts/prove adds')), phases())

    def test_no_phase_takes_more_than_half_an_hour(self):
        for phase, minutes in table('What scripts/prove adds').items():
            self.assertLessEqual(minutes, PHASE, phase)

    def test_each_phase_has_a_function_and_inputs(self):
        script = read('scripts', 'prove')
        for phase in phases()[:-1]:
            self.assertRegex(script, rf'(?m)^prove_{phase}\(\)')
            self.assertIn(f'[{phase}]=', script)

    def test_the_ledger_names_known_phases(self):
        first, *rows = [line.split('\t') for line in read('tests', 'proved.tsv').splitlines()]
        self.assertEqual(first, ['phase', 'commit', 'date', 'minutes', 'counts'])
        for row in rows:
            self.assertEqual(len(row), 5, row)
            self.assertIn(re.sub(r'^flakes-\d+$', 'flakes-N', row[0]), ['ci', *phases()], row)
            self.assertRegex(row[1], r'^[0-9a-f]{7,40}$')


if __name__ == '__main__':
    unittest.main()
