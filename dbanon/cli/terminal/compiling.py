"""The message while kernels are compiled, which makes the first call after an installation slow."""

COMPILING_MESSAGE = (
    "Compiling what the algorithm runs: once after installation, for some seconds (dbanon warmup compiles all)."
)
