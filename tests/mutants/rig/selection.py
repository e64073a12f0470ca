"""Which of the seeded defects a run plants: those that a change may have made unnoticed, a tenth in rotation, a part."""

import re
import subprocess
import sys

from . import catalog

PROVED = catalog.PAGES / 'proved'  # the commit of the newest run in which each defect was killed, and the last tenth since
HEAD = '# Written by tests/mutants/run: the commit at which all defects were killed, and the tenth that ran last.\n'


def git(*arguments):
    """What git prints, or None if it fails."""
    done = subprocess.run(['git', '-C', catalog.ROOT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def cleanHead():
    """The commit that this tree is, but for the ledgers; None if it has other changes."""
    changes = git('status', '--porcelain', '--', '.', ':!tests/luck.tsv', ':!tests/proved.tsv', ':!tests/mutants/proved')
    return git('rev-parse', 'HEAD').strip() if changes == '' else None


class Proved:
    """The content of tests/mutants/proved."""

    def __init__(self, text):
        found = re.search(r'^commit ([0-9a-f]{40})\ntenth ([0-9])$', text, re.M)
        if not found:
            sys.exit(f"tests/mutants/run: {PROVED} must contain 'commit HASH' and 'tenth 0' to 'tenth 9'; restore it from git")
        self.commit, self.tenth = found[1], int(found[2])

    @classmethod
    def read(cls):
        return cls(PROVED.read_text())

    @staticmethod
    def write(commit, tenth):
        PROVED.write_text(f'{HEAD}commit {commit}\ntenth {tenth}\n')


def changedSince(commit, mutants):
    """Those whose section, source, unit, header or test differs from the commit, in their order; all of them if git does
    not know it."""
    files = changedFiles(commit)
    if files is None:
        print(f'tests/mutants/run: git does not know {commit}; all defects count as changed')
        return list(mutants)
    before = sectionsAt(commit)
    return [mutant for mutant in mutants
            if mutant not in before or {mutant.file, mutant.unit, *catalog.sourcesOf(mutant.test)} & files]


def changedFiles(commit):
    """The files that differ from the commit in the working tree, new ones included; None if git does not know it."""
    tracked = git('diff', '--name-only', '--no-renames', commit, '--')
    new = git('ls-files', '--others', '--exclude-standard')
    return None if tracked is None or new is None else {*tracked.splitlines(), *new.splitlines()}


def sectionsAt(commit):
    pages = (git('ls-tree', '--name-only', commit, 'tests/mutants/') or '').splitlines()
    return {mutant for page in pages if page.endswith('.md')
            for mutant in catalog.parsed(f'{page} of {commit}', git('show', f'{commit}:{page}'))}


def tenth(number, mutants):
    """Every tenth of them, so that each tenth has defects of all rooms."""
    return mutants[number::10]


def part(text, mutants):
    """Of 'K/N': every Nth of them, from the Kth on."""
    found = re.fullmatch(r'([1-9]\d*)/([1-9]\d*)', text)
    if not found or int(found[1]) > int(found[2]):
        sys.exit(f"tests/mutants/run: --part {text}: expected K/N with 1 <= K <= N, such as 2/5")
    return mutants[int(found[1]) - 1::int(found[2])]


def due(proved, mutants):
    """What CI plants: those that changed since they were proved, then the next tenth."""
    changed = changedSince(proved.commit, mutants)
    known = set(changed)
    return changed + [mutant for mutant in tenth((proved.tenth + 1) % 10, mutants) if mutant not in known]
