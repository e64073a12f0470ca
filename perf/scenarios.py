"""The table of scenarios: scenario -> question, path, depths, floor (the base of all ratios) and implementations.

An implementation runs `program` (default <scenario>_<name>) of the build's perf/ directory with `args` and
`--listen ADDR:PORT`; a rival from elsewhere gives `command` instead, with {host} and {port} where they belong.
perf/run skips programs that are not built, with a note. It also measures a program <scenario>_<name> that no entry
mentions, with the defaults, so a new file in perf/scenarios/<scenario>/ needs an entry here only if it takes flags.

Of a scenario:
connections    how many at a time, if not 64; several: each in turn
message_bytes  the server echoes messages of this size (and there is no path)
varied         True: requests have a browser's headers, a cookie for each connection and an id for each request
tls            True: over TLS 1.3, with a certificate of ECDSA P-256 that the server makes for itself
handshakes     'full' and 'resumed': over TLS, each request on a connection of its own
args           of all its servers, besides their own
body_bytes     of the answer (the servers are told by `args`); otherwise it is "Hello, World!"
differing      a header whose value must differ in each answer
think_ms       the server calls a backend, which thinks for so long; its address is {backend} in `args`

Of an implementation:
package  the Debian package without which it is not built (scripts/setup --rivals)
warmup   ms before a sample, at least: for a server that compiles itself as it runs
environment  variables of the server
announces  False: does not print where it listens; is given a port by {port} in `args`
slow_args, slow_environment  more `args`, and variables, for a program that an instrument slows down
canned   answers everything with 200, so the order of pipelined answers cannot be checked
targets  what the count thresholds of perf/counts aim for (perf/thresholds/ keeps them)
"""

# A poll of Weft, and a run of its fibers, end after 50 us. Under callgrind that is in the middle of a batch, at a point that
# depends on the machine's load. Without this limit the batches are full, as those of all other servers are under callgrind.
SLOW_WEFT = {'slow_args': ['--poll-us', '1000000'], 'slow_environment': {'WEFT_YIELD_US': '1000000'}}

# Valgrind runs no other thread while one is in io_uring_enter.
SLOW_URING = {**SLOW_WEFT, 'slow_args': SLOW_WEFT['slow_args'] + ['--poll-ring', '1']}

PLAINTEXT = {
    'floor_epoll': {'canned': True},
    'floor_uring': {'canned': True},
    'weft_epoll': {
        'program': 'plaintext_weft', 'args': ['--transport', 'epoll'], **SLOW_WEFT,
        'targets': {'syscalls_per_request': 2.05, 'instructions_per_request': 1250,
                    'allocations_per_request': 0, 'futex_calls_per_request': 0},
    },
    'weft_uring': {
        'program': 'plaintext_weft', 'args': ['--transport', 'io_uring'], **SLOW_URING,
        'targets': {'syscalls_per_request': 0.2, 'allocations_per_request': 0, 'futex_calls_per_request': 0},
    },
    'weft_asio': {'args': ['--transport', 'epoll'], **SLOW_WEFT},
    'asio': {},
    'beast': {},
    'libuv': {'package': 'libuv1-dev'},
    'nginx': {'package': 'nginx-light', 'args': ['--listen', '{host}:{port}'], 'announces': False},
    'go': {'package': 'golang-go'},
    'netty': {'package': 'libnetty-java default-jdk-headless', 'warmup': 5000},
}


def plaintext(names, args=(), instructions=None):
    """Entries of PLAINTEXT for another scenario of the same programs, with more `args` and another target of instructions."""
    found = {}
    for name in names:
        entry = {'program': f'plaintext_{name}', **PLAINTEXT[name]}
        targets = dict(entry.get('targets', {}))
        if 'instructions_per_request' in targets:
            targets['instructions_per_request'] = instructions
        found[name] = {**entry, 'args': [*entry.get('args', []), *args], 'targets': targets}
    return found


HALF_OPEN = ['--handshake-timeout-s', '60']    # as nginx's: perf/idle --half-open holds them for less
TLS = {
    'floor_epoll': {'program': 'tls_plaintext_floor_epoll', 'canned': True},
    'floor_set_fd': {'program': 'tls_plaintext_floor_epoll', 'args': ['--set-fd'], 'canned': True},
    'weft_epoll': {
        'program': 'tls_plaintext_weft', 'args': ['--transport', 'epoll', *HALF_OPEN], **SLOW_WEFT,
        'targets': {'syscalls_per_request': 2.05, 'allocations_per_request': 4.01, 'futex_calls_per_request': 0,
                    'resident_bytes_per_connection': 16_179},
    },
    'weft_uring': {'program': 'tls_plaintext_weft', 'args': ['--transport', 'io_uring', *HALF_OPEN], **SLOW_URING},
    'asio': {'program': 'tls_plaintext_asio', 'canned': True},
    'nginx': {'program': 'plaintext_nginx', 'package': 'nginx-light', 'args': ['--listen', '{host}:{port}', '--tls'],
              'announces': False},
    'go': {'program': 'plaintext_go', 'package': 'golang-go', 'args': ['--tls']},
    'netty': {'program': 'plaintext_netty', 'package': 'libnetty-java default-jdk-headless', 'args': ['--tls'], 'warmup': 5000},
}


def withoutTargets(entries):
    return {name: {key: value for key, value in entry.items() if key != 'targets'} for name, entry in entries.items()}


SCENARIOS = {
    'plaintext': {
        'question': 'What does the smallest HTTP answer cost, against the kernel floor?',
        'path': '/plaintext',
        'depths': [1, 16],
        'floor': 'floor_epoll',
        'implementations': PLAINTEXT,
    },
    'plaintext_varied': {
        'question': 'What does the smallest HTTP answer cost when requests come from browsers and no two are equal?',
        'path': '/plaintext',
        'varied': True,
        'depths': [1, 16],
        'connections': [100],
        'floor': 'floor_epoll',
        'implementations': plaintext(PLAINTEXT, instructions=1600),
    },
    'response_varied': {
        'question': 'What does an answer cost with a header that differs in each one?',
        'path': '/plaintext',
        'differing': 'X-Request-Id',
        'depths': [1, 16],
        'floor': 'floor_epoll',
        'implementations': plaintext(['floor_epoll', 'weft_epoll', 'weft_uring', 'beast', 'nginx'], ['--answer-ids']),
    },
    'tls_plaintext': {
        'question': 'What does the smallest HTTP answer cost over TLS, against the kernel and libssl alone?',
        'path': '/plaintext',
        'tls': True,
        'depths': [1, 16],
        'floor': 'floor_epoll',
        'implementations': TLS,
    },
    'tls_handshake': {
        'question': 'What does a connection cost that makes a handshake, one request and a close?',
        'path': '/plaintext',
        'tls': True,
        'handshakes': ['full', 'resumed'],
        'depths': [1],
        'connections': [16],
        'floor': 'floor_epoll',
        'implementations': withoutTargets(TLS),
    },
    'tls_handshake_rsa': {
        'question': 'What does such a connection cost with a key of RSA-2048?',
        'path': '/plaintext',
        'tls': True,
        'handshakes': ['full'],
        'depths': [1],
        'connections': [16],
        'floor': 'floor_epoll',
        'args': ['--rsa'],
        'implementations': withoutTargets(TLS),
    },
    **{f'tls_bulk_{name}': {
        'question': f'What does an answer of {name} cost over TLS?',
        'path': '/plaintext',
        'tls': True,
        'depths': [1],
        'connections': [16],
        'floor': 'floor_epoll',
        'args': ['--body-bytes', str(size)],
        'body_bytes': size,
        'implementations': withoutTargets(TLS),
    } for name, size in (('64KiB', 64 << 10), ('1MiB', 1 << 20))},
    'fiber_per_request': {
        'question': 'What does it cost to run each request where it may block: on a fiber, or on a worker thread?',
        'path': '/fiber',
        'depths': [1, 16],
        'floor': 'floor_epoll',
        'implementations': {
            'floor_epoll': {'program': 'plaintext_floor_epoll', 'canned': True},
            'weft_split': {'args': ['--workers', '1']},
            'asio_split_1': {'program': 'fiber_per_request_asio_split', 'args': ['--workers', '1']},
            'asio_split_4': {'program': 'fiber_per_request_asio_split', 'args': ['--workers', '4']},
            'weft_inline': {'program': 'plaintext_weft', 'args': ['--transport', 'epoll'], 'path': '/plaintext'},
            'weft': {
                'args': ['--transport', 'epoll'], **SLOW_WEFT,
                'targets': {'allocations_per_request': 0, 'futex_calls_per_request': 0},
            },
            'weft_uring': {
                'program': 'fiber_per_request_weft', 'args': ['--transport', 'io_uring'], **SLOW_URING,
                'targets': {'syscalls_per_request': 0.2, 'allocations_per_request': 0, 'futex_calls_per_request': 0},
            },
        },
    },
    'service': {
        'question': 'What does http::Service add to the parts that it is made of?',
        'path': '/plaintext',
        'depths': [1, 16],
        'floor': 'router',
        'implementations': {
            name: {
                'program': 'service_weft', 'args': ['--transport', 'epoll', '--route', name], **SLOW_WEFT,
                'targets': {'allocations_per_request': 0, 'futex_calls_per_request': 0},
            }
            for name in ('router', 'loop', 'spawn', 'fiber')
        },
    },
    'carrier_settings': {
        'question': 'What do the settings of a carrier cost a server that runs a fiber for each request?',
        'path': '/fiber',
        'depths': [1],
        'floor': 'default',
        'implementations': {
            name: {'program': 'fiber_per_request_weft', 'args': ['--transport', transport], 'environment': environment}
            for name, transport, environment in (
                ('default', 'epoll', {}),
                ('drain_10us', 'epoll', {'WEFT_YIELD_US': '10'}),
                ('drain_200us', 'epoll', {'WEFT_YIELD_US': '200'}),
                ('spin_20us', 'epoll', {'WEFT_IDLE_SPIN_US': '20'}),
                ('spin_100us', 'epoll', {'WEFT_IDLE_SPIN_US': '100'}),
                ('recorder', 'epoll', {'WEFT_TRACE_EVENTS': '65536'}),
                ('uring', 'io_uring', {}),
                ('uring_spin_20us', 'io_uring', {'WEFT_IDLE_SPIN_US': '20'}),
                ('uring_spin_100us', 'io_uring', {'WEFT_IDLE_SPIN_US': '100'}),
            )
        },
    },
    'work_stealing': {
        'question': 'What does work stealing do to a server of two carriers whose requests take 100 us of CPU time?',
        'path': '/fiber',
        'depths': [1],
        'floor': 'off',
        'implementations': {
            name: {'program': 'fiber_per_request_weft', 'args': ['--transport', 'epoll', '--carriers', '2', '--work-us', '100'],
                   'environment': environment}
            for name, environment in (
                ('off', {}),
                ('on', {'WEFT_WORK_STEALING': 'true'}),
                ('on_pinned', {'WEFT_WORK_STEALING': 'true', 'WEFT_TOPOLOGY': 'linux'}),
            )
        },
    },
    'backend_call': {
        'question': 'What does a request cost that has to wait for a backend?',
        'path': '/backend',
        'depths': [1],
        'connections': [64, 1000],
        'think_ms': [1, 30],
        'floor': 'weft_split',
        'implementations': {
            'weft_split': {'args': ['--backend', '{backend}', '--workers', '1']},
            'weft': {'args': ['--backend', '{backend}']},
            'weft_uring': {'program': 'backend_call_weft', 'args': ['--backend', '{backend}', '--transport', 'io_uring'],
                           **SLOW_URING},
            'asio': {'args': ['--backend', '{backend}']},
            'beast_spawn': {'args': ['--backend', '{backend}']},
            'boost_fiber': {'package': 'libboost-fiber1.81-dev', 'args': ['--backend', '{backend}']},
            'go': {'package': 'golang-go', 'args': ['--backend', '{backend}'], 'environment': {'GOMAXPROCS': '1'}},
            'asio_split_1': {'program': 'backend_call_asio_split', 'args': ['--backend', '{backend}', '--workers', '1']},
            'asio_split_4': {'program': 'backend_call_asio_split', 'args': ['--backend', '{backend}', '--workers', '4']},
        },
    },
    'asio_echo': {
        'question': 'What does an Asio program cost whose context is one of Weft?',
        'depths': [1],
        'connections': [64],
        'message_bytes': [64],
        'floor': 'asio',
        'implementations': {
            'asio': {},
            'asio_pool': {},
            'weft_context': {'targets': {'allocations_per_request': 0, 'futex_calls_per_request': 0}},
            'weft_group': {**SLOW_WEFT, 'targets': {'allocations_per_request': 0, 'futex_calls_per_request': 0}},
            'weft_use_fiber': {**SLOW_WEFT, 'targets': {'allocations_per_request': 0, 'futex_calls_per_request': 0}},
        },
    },
    'asio_http': {
        'question': 'What does an HTTP server of Boost.Beast cost whose context is one of Weft?',
        'path': '/plaintext',
        'depths': [1, 16],
        'floor': 'beast',
        'implementations': {
            'beast': {'program': 'plaintext_beast'},
            'weft_context': {},
        },
    },
    'echo_large': {
        'question': 'What does it cost to move large messages in and out?',
        'depths': [1],
        'connections': [16],
        'message_bytes': [64 << 10, 1 << 20],
        'floor': 'floor_epoll',
        'implementations': {
            'floor_epoll': {},
            'weft': {'targets': {'copied_bytes_per_request': 0}},
            'weft_uring': {
                'program': 'echo_large_weft', 'args': ['--transport', 'io_uring'], **SLOW_URING,
                'targets': {'syscalls_per_request': 0.2, 'copied_bytes_per_request': 0},
            },
            'asio': {},
            'libuv': {'package': 'libuv1-dev'},
        },
    },
}
