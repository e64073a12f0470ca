#!/usr/bin/env python3
"""Question: what does the same answer cost in nginx, which gives it from its configuration (`return 200`)?

Becomes an nginx of one process. nginx cannot say which port it took, so it must be told one. With --answer-ids
(response_varied) each answer has an id in a header, of 32 digits.
"""

import os
import sys
import tempfile

CONFIGURATION = '''
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events { worker_connections 16384; }
http {
    access_log off;
    server_tokens off;
    default_type text/plain;
    keepalive_timeout 3600;
    keepalive_requests 1000000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen %s backlog=4096;
        location = /plaintext { %s return 200 "Hello, World!"; }
        location / { return 404; }
    }
}
'''


def main():
    arguments = [each for each in sys.argv[1:] if each != '--answer-ids']
    if len(arguments) != 2 or arguments[0] != '--listen':
        sys.exit('usage: plaintext_nginx --listen ADDR:PORT [--answer-ids]')
    header = 'add_header X-Request-Id $request_id;' if '--answer-ids' in sys.argv else ''
    configuration = os.memfd_create('nginx.conf', 0)
    os.write(configuration, (CONFIGURATION % (arguments[1], header)).encode())
    prefix = os.path.join(tempfile.gettempdir(), f'weft-perf-nginx-{os.getuid()}')
    os.makedirs(prefix, exist_ok=True)
    os.environ['PATH'] = os.environ.get('PATH', '') + ':/usr/sbin'
    os.execvp('nginx', ['nginx', '-p', prefix, '-c', f'/proc/self/fd/{configuration}'])


if __name__ == '__main__':
    main()
