"""The demo: a small fleet on an embedded store, disturbed on purpose, and judged by its records.

Model. `fleet` starts real `duly worker` processes; `story` disturbs them chapter by chapter and waits for what the
records say happened; `evidence` reads everything that was recorded, and `tally` (pure) recomputes from it what
became of every tick. The verdict knows nothing of what the story believes.

Invariants. The watched documents are copies: the demo writes only to its own folder. Whatever ends the demo, no
process of it is left.

Non-goals. A benchmark; a test of anything but the promises that the records can show.
"""
