"""AWS's own questions: which region, whose credentials, and what a request must carry to be believed.

boto3's parts read configuration files and, where nothing else is given, ask AWS's other sources of credentials (a role,
single sign-on, a container, an instance). All of it happens when a call is made, and in a thread: it can take seconds.
"""

import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from botocore import UNSIGNED
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.loaders import Loader
from botocore.session import Session

from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.failures import Failure, ProviderFailed

__all__ = ["bedrock_client", "no_credentials", "region_of"]

#: Signatures need a region. A server that is not AWS's, and knows none, hears this one.
_ELSEWHERE = "us-east-1"

_AWS_HOST = re.compile(r"bedrock-runtime(?:-fips)?\.(?P<region>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$")
_ARN = re.compile(r"arn:aws[a-z-]*:bedrock:(?P<region>[a-z0-9-]+):")


def bedrock_client(endpoint: Endpoint, model_id: str) -> BaseClient:
    """A `bedrock-runtime` client for one call that never tries twice. It prepares requests; httpx2 sends them.

    With `endpoint.api_key`, a Bedrock API key, requests are left unsigned: the key goes in a header of its own.
    Raises ProviderFailed: there is no region, or the configuration or the credentials cannot be read.
    """
    environ = endpoint.environ
    try:
        session = _session(environ)
        region = region_of(endpoint.base_url, model_id, environ) or session.get_config_variable("region")
        if not region and not endpoint.base_url:
            message = "no AWS region: set AWS_REGION, or give the model an ARN or a base_url that names one"
            raise ProviderFailed(Failure("invalid_request", message, retryable=False))
        return session.create_client(
            "bedrock-runtime",
            region_name=region or _ELSEWHERE,
            endpoint_url=endpoint.base_url or None,
            aws_access_key_id=environ.get("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=environ.get("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=environ.get("AWS_SESSION_TOKEN"),
            config=Config(
                signature_version=UNSIGNED if endpoint.api_key else "v4",
                retries={"total_max_attempts": 1},
                # AWS_ENDPOINT_URL would decide where credentials go.
                ignore_configured_endpoint_urls=True,
            ),
        )
    except BotoCoreError as error:
        raise no_credentials(error) from error


def no_credentials(error: BotoCoreError) -> ProviderFailed:
    """What botocore finds wrong with region, profile or credentials, as a failure that says what to set."""
    hint = "set AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    return ProviderFailed(Failure("auth", f"{error} ({hint})", retryable=False))


def region_of(base_url: str, model_id: str, environ: Mapping[str, str]) -> str | None:
    """The region that the server's name, else the model's ARN, else the environment names."""
    if host := _AWS_HOST.match(urlsplit(base_url).hostname or ""):
        return host["region"]
    if arn := _ARN.match(model_id):
        return arn["region"]
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")


def _session(environ: Mapping[str, str]) -> Session:
    session = Session(profile=environ.get("AWS_PROFILE"))
    session.register_component("data_loader", _descriptions())
    for variable, name in (("AWS_CONFIG_FILE", "config_file"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials_file")):
        if variable in environ:
            session.set_config_variable(name, environ[variable])
    # The process's variables: what counts is `environ`, whose keys are handed over as they are.
    session.get_component("credential_provider").remove("env")
    return session


@cache
def _descriptions() -> Loader:
    # AWS's description of its services, read from botocore's own files: tens of milliseconds, and always the same.
    return Loader()
