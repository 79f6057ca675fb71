"""The program ``msprof`` of the simulated Ascend: makes of what libmsprofiler recorded the files that CANN documents.

Laid out where CANN has its own, run by any Python 3.9 or later: it imports nothing but the standard library.
"""
