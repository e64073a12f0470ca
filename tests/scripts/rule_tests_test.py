#!/usr/bin/env python3
"""docs/reference/rule-tests.md lists the tests of each of Netty's rules, and each rule has one."""

import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = {'TH': 5, 'H': 9, 'P': 6, 'E': 8, 'S': 6, 'C': 7, 'HC': 5, 'R': 6, 'W': 8, 'F': 4, 'L': 6, 'B': 3, 'D': 8}


class RuleTests(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, 'docs', 'reference', 'rule-tests.md'), encoding='utf-8') as file:
            self.page = file.read()

    def test_the_page_is_what_the_script_writes(self):
        done = subprocess.run([os.path.join(ROOT, 'scripts', 'rule_tests'), '--check'], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_every_rule_has_a_test(self):
        listed = re.findall(r'^## (\S+)\n\n\* `', self.page, re.M)
        wanted = [f'{prefix}-{number}' for prefix, count in RULES.items() for number in range(1, count + 1)] + ['2.17']
        self.assertEqual([rule for rule in wanted if rule not in listed], [])
        self.assertGreater(self.page.count('\n* `'), 300)


if __name__ == '__main__':
    unittest.main()
