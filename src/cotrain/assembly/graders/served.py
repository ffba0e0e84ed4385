"""Evidence for a case from the services of this process, which end with it."""

from cotrain.assembly.graders.base import CaseError
from cotrain.assembly.services import SERVICES
from cotrain.config import SandboxSettings
from cotrain.core.episode import CandidateStatus, Evidence, Request
from cotrain.environments.base import ServiceLostError

ANSWERED = (CandidateStatus.SCORED, CandidateStatus.UNKNOWN)


def answered(request: Request) -> Evidence:
    """The evidence for a request, or that it cannot be told.

    Raises CaseError where the service cannot be had here, or has failed.
    """
    [ask] = SERVICES.tries([request.kind], SandboxSettings()).values()
    try:
        evidence = ask(request)
    except ServiceLostError as error:
        raise CaseError(str(error)) from error
    if evidence.status not in ANSWERED:
        raise CaseError(evidence.message)
    return evidence
