"""Pages and data that the reproduction adds to the lab."""

from sparsehead.lab.extension import Extension, JobKind

from .claims import ClaimsRequest, check_claims, router
from .laws import committed_laws

LAB = Extension(
    routers=(router,),
    jobs={"claims": JobKind(lambda given: ClaimsRequest.model_validate(given).model_dump(), check_claims)},
    laws=committed_laws,
)
