"""Tasks to try a fleet with: `duly worker -m duly.worker.demo.updater`."""
