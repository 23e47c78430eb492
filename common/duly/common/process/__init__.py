"""The processes of one container: roles started by name, kept running, stopped together."""
