"""The files of perf/results/: one compact summary for each run, small enough to read in a diff.

A file holds the command, the versions, the programs and the summary, one row a line. Samples and histograms go to files
of their own, which are not committed.
"""

import json
import math
import os
import shlex

DIGITS = 5      # significant digits of a fraction; more where rounding the result again would change the figure


def save(directory, kind, now, content):
    """Writes <kind>-<date>.json and returns its path."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f'{kind}-{now:%Y%m%d-%H%M%S}.json')
    with open(path, 'w') as file:
        file.write(text({'date': now.isoformat(timespec='seconds'), **content}))
    return path


def saveLines(path, suffix, entries):
    """Writes `entries` beside the results file `path`, as JSON, one a line. Returns the path of the new file."""
    path = beside(path, suffix)
    with open(path, 'w') as file:
        file.writelines(json.dumps(entry) + '\n' for entry in entries)
    return path


def beside(path, suffix):
    return path.removesuffix('.json') + suffix


def text(content):
    """`content` as JSON: a line for each key, each implementation and each row of the summary. Rows omit fields that are
    None."""
    def line(value):
        return json.dumps(rounded(value))

    def lines(parts, brackets):
        return f'{brackets[0]}\n' + ',\n'.join(f'  {part}' for part in parts) + f'\n {brackets[1]}'
    content = {**content, 'command': commandLine(content['command'])}
    programs = {name: commandLine(command) for name, command in content['implementations'].items()}
    rows = [{key: value for key, value in row.items() if value is not None} for row in content['summary']]
    parts = {key: line(value) for key, value in content.items()}
    parts['implementations'] = lines((f'{line(name)}: {line(command)}' for name, command in programs.items()), '{}')
    parts['summary'] = lines(map(line, rows), '[]')
    return '{\n' + ',\n'.join(f' {line(key)}: {value}' for key, value in parts.items()) + '\n}\n'


def commandLine(command):
    """`command` as one string, with absolute paths reduced to their last part."""
    if isinstance(command, str):
        return command
    return ' '.join(quoted(withoutDirectory(argument)) for argument in command)


def withoutDirectory(argument):
    """`argument` is a word of a command: PATH, or NAME=PATH."""
    name, mark, path = argument.rpartition('=')
    return name + mark + os.path.basename(path.rstrip('/')) if os.path.isabs(path) else argument


def quoted(argument):
    """Quoted for a shell, except placeholders such as {backend}."""
    return argument if '{' in argument and ' ' not in argument else shlex.quote(argument)


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each) for each in value]
    if isinstance(value, float):
        value = next(found for found in (float(f'{value:.{digits}g}') for digits in range(DIGITS, 18))
                     if not endsInFive(found) or math.isclose(found, value, rel_tol=1e-12))
        return int(value) if value.is_integer() else value
    return value


def endsInFive(value):
    """True if the last digit is 5. 1.06502 must not be stored as 1.065, which is printed with two decimals as 1.06 or as
    1.07, whichever way the binary fraction lies."""
    return repr(value).partition('e')[0].removesuffix('.0').rstrip('0').endswith('5')
