"""What works on this machine, and what to install: versions, accelerators, engines, sandbox.

Nothing here raises and nothing heavy is loaded but torch, whose own failure to load is a finding.
"""

import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from cotrain.environments.sandbox.base import SandboxUnavailableError
from cotrain.environments.sandbox.pool import BubblewrapSandbox
from cotrain.environments.sandbox.probes import PROBE_LIMITS, Proof, prove
from cotrain.runs.manifest import available_cpus, package_version

PACKAGES = ("cotrain", "torch", "transformers", "peft", "safetensors", "tokenizers", "pydantic")
PROBING_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A device that models can run on."""

    name: str
    memory_bytes: int
    bfloat16: bool


@dataclass(frozen=True, slots=True)
class TorchFindings:
    """What torch says of this machine. `cuda` is the CUDA version that it is built for.

    `problem` says why torch, or a part of what was asked of it, could not be used.
    """

    cuda: str | None = None
    accelerators: tuple[Accelerator, ...] = ()
    cpu_bfloat16: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SandboxFindings:
    """What programs of replies would be run in. `problem` says why they cannot be, if so.

    `one_each` is the system's reason for starting a whole sandbox for each program, empty where
    warm ones serve many. `proofs` are properties that real programs have tried.
    """

    problem: str = ""
    one_each: str = ""
    proofs: tuple[Proof, ...] = ()

    @property
    def unproven(self) -> tuple[Proof, ...]:
        """The properties that this machine does not give."""
        return tuple(proof for proof in self.proofs if not proof.proven)


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found. `packages` are versions, None where one is not installed."""

    python: str
    packages: Mapping[str, str | None]
    torch: TorchFindings
    cpu_threads: int
    nvidia_driver: bool
    vllm: str | None
    ray: str | None
    sandbox: SandboxFindings

    def as_json(self) -> dict[str, Any]:
        """The findings and the advice as one document."""
        return {**asdict(self), "advice": list(advice(self))}

    def as_text(self) -> str:
        """The findings for a person, the advice last."""
        lines = [f"{name:15}{value}" for name, value in _findings(self)]
        found = list(advice(self))
        lines += ["", *(f"- {line}" for line in found)] if found else []
        return "\n".join(lines)


def examine() -> Examination:
    """Looks at this machine and this installation; takes the time that importing torch takes."""
    return Examination(
        python=platform.python_version(),
        packages={name: package_version(name) for name in PACKAGES},
        torch=_ask_torch(),
        cpu_threads=available_cpus(),
        nvidia_driver=shutil.which("nvidia-smi") is not None,
        vllm=_installed("vllm"),
        ray=_installed("ray"),
        sandbox=_try_sandbox(),
    )


def advice(found: Examination) -> Iterator[str]:
    """What to install or to mend, one line each, and what this version leaves out.

    >>> healthy = Examination("3.11.9", {"torch": "2.11"}, TorchFindings(), 8, False, "0.20", "2.5",
    ...                       SandboxFindings())
    >>> list(advice(healthy))
    []
    """
    for name in (name for name, version in found.packages.items() if version is None):
        yield f"{name} is not installed: pip install {name}"
    if found.torch.problem:
        yield f"torch: {found.torch.problem}"
    elif found.nvidia_driver and found.torch.cuda is None:
        yield (
            "there is an NVIDIA driver, and torch is the CPU build: install its CUDA build to use "
            "the GPU"
        )
    elif found.nvidia_driver and not found.torch.accelerators:
        yield (
            f"there is an NVIDIA driver, and torch (CUDA {found.torch.cuda}) finds no GPU: compare "
            "the CUDA version that nvidia-smi shows"
        )
    if found.vllm is None:
        yield (
            'vLLM is not installed: pip install "cotrain[vllm]"; this version samples with its own '
            'engine alone (sampling.engine = "local")'
        )
    if found.ray is None:
        yield (
            'Ray is not installed: pip install "cotrain[ray]"; this version runs in one process '
            "alone"
        )
    yield from _sandbox_advice(found.sandbox)


def _sandbox_advice(found: SandboxFindings) -> Iterator[str]:
    if found.problem:
        yield f"sandbox: {found.problem}"
    for proof in found.unproven:
        yield f"sandbox: not proven that {proof.name}: {proof.said}"
    if found.one_each:
        yield (
            "sandbox: each program needs a sandbox of its own, which is slower, because this "
            f"system lets none be nested in it: {found.one_each}"
        )


def _findings(found: Examination) -> Iterator[tuple[str, str]]:
    yield "python", found.python
    for name, version in found.packages.items():
        yield name, version or "not installed"
    yield "accelerators", _accelerators(found.torch)
    bfloat16 = "with" if found.torch.cpu_bfloat16 else "without"
    yield "CPU", f"{found.cpu_threads} threads, {bfloat16} bfloat16 instructions"
    yield "vLLM", found.vllm or "not installed"
    yield "Ray", found.ray or "not installed"
    yield "sandbox", _sandbox(found.sandbox)
    for proof in found.sandbox.proofs:
        yield "", f"{'proven' if proof.proven else 'NOT PROVEN'}: {proof.name}"


def _sandbox(found: SandboxFindings) -> str:
    if found.problem:
        return "programs of replies cannot be run in isolation"
    proven = len(found.proofs) - len(found.unproven)
    return f"bubblewrap, {proven} of {len(found.proofs)} properties proven"


def _accelerators(torch: TorchFindings) -> str:
    shown = [
        f"{device.name}, {device.memory_bytes / 2**30:.0f} GiB"
        f"{'' if device.bfloat16 else ', without bfloat16'}"
        for device in torch.accelerators
    ]
    return "; ".join(shown) or "none: models run on the CPU"


def _try_sandbox() -> SandboxFindings:
    try:
        sandbox = BubblewrapSandbox(PROBING_WORKERS, PROBE_LIMITS)
    except SandboxUnavailableError as error:
        return SandboxFindings(problem=str(error))
    with closing(sandbox):
        return SandboxFindings(one_each=sandbox.nested_refusal, proofs=prove(sandbox))


def _ask_torch() -> TorchFindings:
    try:
        return _torch_findings(import_module("torch"))
    except Exception as error:  # noqa: BLE001 - however torch fails, that is what is reported
        return TorchFindings(problem=f"{type(error).__name__}: {error}")


def _torch_findings(torch: Any) -> TorchFindings:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = (torch.cuda.get_device_properties(place) for place in range(count))
    return TorchFindings(
        cuda=torch.version.cuda,
        accelerators=tuple(
            Accelerator(device.name, device.total_memory, device.major >= 8) for device in devices
        ),
        cpu_bfloat16=import_module("cotrain.policies.weights").has_bfloat16_instructions(),
    )


def _installed(package: str) -> str | None:
    """The version of an importable package. It is not imported: that would take many seconds."""
    if find_spec(package) is None:
        return None
    return package_version(package) or "of unknown version"
