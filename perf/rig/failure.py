"""The one exception of the rig: a problem to be told to the user in one line, without a traceback."""


class Failure(Exception):
    pass
