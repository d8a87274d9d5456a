"""Lets the tests in this folder and below import `interpreter`."""
