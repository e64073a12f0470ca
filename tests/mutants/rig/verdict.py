"""What the runs of a test say of a seeded defect: killed, or survives."""

import re

PATIENCE = 60  # seconds for a test, at most, with or without a defect; it needs milliseconds
LOOKS = 10  # runs of a test, in all, that has missed its defect once


def of(test, status, said, limit):
    """The verdict on a run of this test. `status` is the exit status, -N after signal N, None after `limit` seconds."""
    lines = said.split('\n')
    if any(re.match(rf'\[  FAILED  \] {re.escape(test)}(,| |$)', line) for line in lines):
        return 'killed'
    if not begun(test, said) or any(line.startswith(f'[       OK ] {test} ') for line in lines):
        return 'SURVIVES' if status == 0 else 'FAILS OUTSIDE THE TEST'
    if status is None:
        return f'killed, hung {limit:.0f} s'
    return f'killed, by signal {-status}' if status < 0 else 'SURVIVES' if status == 0 else f'ENDS WITH STATUS {status}'


def begun(test, said):
    return f'[ RUN      ] {test}' in said.replace('\r', '').split('\n')


def limitFor(seconds):
    """Timeout of the first look at a test with a defect that takes `seconds` without it."""
    return min(PATIENCE, max(3, 100 * seconds))


def secondLimitFor(seconds):
    """Timeout of the further looks: at least what a slow machine may need."""
    return min(PATIENCE, max(10, 100 * seconds))


def ofLooks(first, look):
    """The (verdict, output) of a defect. `first` is that of the first look. A test that seemed to hang is looked at once
    more. One that missed the defect is looked at LOOKS times in all: missed each time, the defect survives."""
    if first[0].startswith('killed, hung'):
        first = look()
    if first[0] != 'SURVIVES':
        return first
    kills = [outcome for outcome in (look() for _ in range(LOOKS - 1)) if outcome[0].startswith('killed')]
    return (f'killed in {len(kills)} of {LOOKS}', kills[-1][1]) if kills else first


def ofRounds(first, look, rounds):
    """The first (verdict, output) that is no kill; else the last one of all rounds."""
    outcome = first
    for _ in range(rounds - 1):
        if not outcome[0].startswith('killed'):
            break
        outcome = look()
    return outcome
