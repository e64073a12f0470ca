"""The base of the rig's exceptions: a problem that is reported in one line, without a traceback."""


class Failure(Exception):
    pass
