"""The one exception of the rig: a problem that is reported in one line, without a traceback."""


class Failure(Exception):
    pass
