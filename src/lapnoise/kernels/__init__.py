"""Pure jitted maps from random words to noise, one published method a file.

Arguments are checked before they get here.
"""
