"""STAND-IN for nvidia-smi: prints as JSON what NVML says here, read by plain pynvml calls.

It shares no code with headway, so that a test can judge headway's answers by it.
"""

import json
import sys

import pynvml  # it lies beside this file on the host


def main() -> None:
    """Print cards with memory and processes, or the error that NVML gave, with exit code 1."""
    try:
        pynvml.nvmlInit()
        cards = [card(index) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        sys.stdout.write(json.dumps({"error": error.value, "text": str(error)}))
        sys.exit(1)
    driver = pynvml.nvmlSystemGetDriverVersion()
    sys.stdout.write(json.dumps({"driver": driver, "cards": cards}))


def card(index: int) -> dict[str, object]:
    """Return one card: used bytes without what the driver reserves, processes by kind."""
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    listed = {
        "compute": pynvml.nvmlDeviceGetComputeRunningProcesses(handle),
        "graphics": pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle),
    }
    return {
        "name": pynvml.nvmlDeviceGetName(handle),
        "uuid": pynvml.nvmlDeviceGetUUID(handle),
        "bus": pynvml.nvmlDeviceGetPciInfo(handle).busId,
        "total": memory.total,
        "used": memory.used,
        **{kind: {found.pid: found.usedGpuMemory for found in of} for kind, of in listed.items()},
    }


if __name__ == "__main__":
    main()
