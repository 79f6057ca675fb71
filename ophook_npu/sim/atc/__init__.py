"""``atc``, CANN's offline model converter: a model becomes an ``.om`` file, which the simulator runs."""
