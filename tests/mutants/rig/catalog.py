"""The seeded defects: what the .md pages of tests/mutants list."""

import dataclasses
import functools
import pathlib
import re
import sys

PAGES = pathlib.Path(__file__).resolve().parent.parent
ROOT = PAGES.parent.parent
ENTRY = re.compile(r'^### (?P<heading>[^\n]+)\n`(?P<file>(?P<home>\w+)/[^`\n]+)` (?:in `(?P<unit>\w+/[^`\n]+)` )?'
                   r'`(?:(?P<room>\w+): )?(?P<test>[^`\n]+)`\n```diff\n(?P<diff>.*?)^```$', re.M | re.S)
FOLDERS = {'model': 'tests/model'}  # where a room's test program is built, if not in tests/
TEST = re.compile(r'\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)')


class Failure(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Mutant:
    heading: str  # 'RULE: what is wrong'
    file: str  # from the root of the sources
    unit: str  # the source file that is compiled with the defect: `file` itself, or one that includes it
    room: str  # the room of the test
    test: str  # 'Suite.Name'
    text: str
    defect: str

    @property
    def program(self):
        """The test program, as a path in the build directory."""
        return f'{FOLDERS.get(self.room, "tests")}/weft_{self.room}_tests'

    def planted(self):
        source = ROOT / self.file
        if not source.exists():
            raise Failure(f'there is no {self.file}: bring its section up to date')
        found = source.read_text().count(self.text)
        if found != 1:
            raise Failure(f'its text is {found} times in {self.file}, must be there once: bring its section up to date')
        return source.read_text().replace(self.text, self.defect)

    def stale(self):
        """Why the defect cannot be planted or noticed; None if it can."""
        try:
            self.planted()
        except Failure as failure:
            return str(failure)
        if not (ROOT / self.unit).exists():
            return f'there is no {self.unit}, which it is compiled in'
        return None if sourcesOf(self.test) else f'no source under tests/ has a test {self.test}'


def listed():
    """The defects of all pages, in order."""
    return [mutant for page in sorted(PAGES.glob('*.md')) for mutant in parsed(page.name, page.read_text())]


def parsed(page, text):
    mutants = []
    entries = list(ENTRY.finditer(text))
    headings = re.findall(r'^### ', text, re.M)
    if len(entries) != len(headings):
        sys.exit(f'tests/mutants/run: {page} has {len(headings)} headings, but {len(entries)} entries of the accepted form')
    for entry in entries:
        if not entry['unit'] and not entry['file'].endswith('.cpp'):
            sys.exit(f"tests/mutants/run: {page}: '{entry['heading']}' is in a header: name the source file that sees it: "
                     '`HEADER` in `SOURCE` `TEST`')
        mutants.append(Mutant(entry['heading'], entry['file'], entry['unit'] or entry['file'], entry['room'] or entry['home'],
                              entry['test'], side(entry['diff'], '-'), side(entry['diff'], '+')))
    return mutants


def side(diff, mark):
    """The text of the lines that carry this mark or none."""
    return '\n'.join(line[1:] for line in diff.splitlines() if not line or line[0] in (mark, ' '))


def sourcesOf(test):
    """The files that define the test 'Suite.Name', 'Prefix/Suite.Name/3' or 'Suite/0.Name'. Suites that are instantiated
    under another name (a type alias, a macro) are found by the test's name alone."""
    suite, _, name = test.partition('.')
    name = name.partition('/')[0]
    exact = [file for part in suite.split('/') for file in sourcesByTest().get((part, name), [])]
    return exact or sourcesByTest().get(name, [])


@functools.cache
def sourcesByTest():
    found = {}
    for source in sorted((ROOT / 'tests').glob('**/*.?pp')):
        for suite, name in TEST.findall(source.read_text()):
            for key in ((suite, name), name):
                found.setdefault(key, []).append(str(source.relative_to(ROOT)))
    return found
