"""The schedules that hold where nothing is said: a file for each sort of program."""
