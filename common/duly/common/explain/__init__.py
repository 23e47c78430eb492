"""What every surface says about records: the command line, the API and the console say the same, in the same words.

Model. A module for each thing that is told: an occurrence or why there is none, what it was decided on and whether that
still comes out the same, holds, edits, ticks, pages of the past, workers. `words` turns codes into plain words and
`text` makes them harmless. A function here returns values, text or what `--json` and the API print; how it is drawn is
the surface's own.

Invariants. Nothing here prints, knows an option, a terminal or a page. What is read is read through the store, in a
bounded number of requests, and nothing is changed; only `resolution.catch_up_latest` asks for a tick to be run.

Non-goals. No rule about schedules or occurrences lives here: the records and the store have them.
"""
