"""Guests: one file for each foreign library. Nothing here is imported before it is asked for."""
