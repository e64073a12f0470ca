#!/usr/bin/env python3
""".ci/run or scripts/prove builds each preset of CMakePresets.json; in presets for users warnings are not errors."""

import json
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOR_USERS = ('dev', 'release', 'asan', 'tsan', 'perf')


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


class Presets(unittest.TestCase):
    def setUp(self):
        self.presets = {preset['name']: preset for preset in json.loads(read('CMakePresets.json'))['configurePresets']}

    def variables(self, name):
        preset = self.presets[name]
        inherited = preset.get('inherits', [])
        found = {}
        for parent in reversed([inherited] if isinstance(inherited, str) else inherited):
            found.update(self.variables(parent))
        return {**found, **preset.get('cacheVariables', {})}

    def test_each_is_built(self):
        scripts = read('.ci', 'run') + read('scripts', 'prove') + read('scripts', 'test')
        built = set(re.findall(r'(?:cmake --build --preset|\btested|\bbuilt) ([a-z][-a-z]*)', scripts))
        self.assertIn('perf', built)
        offered = {name for name, preset in self.presets.items() if not preset.get('hidden')}
        self.assertEqual(offered - built, set(), 'neither .ci/run nor scripts/prove builds these presets')

    def test_those_for_users_do_not_stop_at_a_warning(self):
        for name in FOR_USERS:
            self.assertNotIn('WEFT_WERROR', self.variables(name), name)
        self.assertEqual(self.variables('strict')['WEFT_WERROR'], 'ON')


if __name__ == '__main__':
    unittest.main()
