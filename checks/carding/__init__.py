"""What the checks of cards share: ready, gpu and nccl. It travels with what reads NVML."""
