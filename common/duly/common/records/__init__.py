"""The durable records: schedules, occurrences, enqueue events and run history."""
