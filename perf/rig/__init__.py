"""The parts that perf/run and perf/counts share."""
