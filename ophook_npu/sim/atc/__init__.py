"""The offline converter: models and single operators as `.om` files that the simulated AscendCL loads."""
