"""The recording file: its lines, their order, reading, appending."""
