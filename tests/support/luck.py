"""tests/luck.tsv, the ledger of luck: tests that failed once and then passed twenty times, seeded defects that their test
missed once. Each row is a race in the product or a test that assumes a time; the commit that mends it removes the row."""

import datetime
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEDGER = ROOT / 'tests' / 'luck.tsv'
COLUMNS = ('name', 'commit', 'date', 'what failed')
LONGEST = 400  # characters of `what failed`


def record(name, what, ledger=LEDGER):
    """Adds a row to the ledger, and prints it."""
    row = (name, head(), datetime.date.today().isoformat(), ' '.join(what.split())[:LONGEST])
    print(f'LUCK: {name}: {row[3]}', flush=True)
    with open(ledger, 'a', encoding='utf-8') as file:
        file.write('\t'.join(row) + '\n')


def rows(text):
    """The rows of a ledger; raises ValueError for a text that is none."""
    first, *rest = [line.split('\t') for line in text.splitlines()]
    if tuple(first) != COLUMNS:
        raise ValueError(f'the first line must be {COLUMNS}, separated by tabs')
    for row in rest:
        if len(row) != len(COLUMNS) or not all(row):
            raise ValueError(f'a row must have {len(COLUMNS)} columns, separated by tabs: {row}')
    return [tuple(row) for row in rest]


def head():
    try:
        done = subprocess.run(['git', '-C', ROOT, 'rev-parse', '--short', 'HEAD'], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
    except FileNotFoundError:    # a machine without git, to which the sources have been copied
        return 'no commit'
    return done.stdout.strip() or 'no commit'
