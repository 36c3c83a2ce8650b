"""The main job in one command: record a tool loop over HTTP, replay it offline, see a change being caught."""
