"""The modules of the scripts in perf/."""
