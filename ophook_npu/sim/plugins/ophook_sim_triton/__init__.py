"""Triton on the simulator: its interpreter runs a program's kernels, held to what a kernel may use on an Ascend.

Triton finds this package as one of its backends. It compiles nothing; it names the device to programs that ask
Triton for it, and watches the interpreter (`launches`).
"""
