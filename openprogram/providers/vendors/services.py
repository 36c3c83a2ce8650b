"""Where models are served, and whose key opens which door: known servers, as a table.

A key that was made for one company is not sent to another, so a call looks for the company behind its server first.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import urlsplit

__all__ = [
    "ANTHROPIC",
    "AWS",
    "COMPATIBLE",
    "GOOGLE",
    "MISTRAL",
    "OPENAI",
    "VERTEX",
    "Service",
    "names_of",
    "service_behind",
]


@dataclass(frozen=True)
class Service:
    """A company's server, or a program that people run themselves.

    `base_url`: for models that name no other place; "": each customer has one of their own. `key_variable`: the
    environment variable with its key; `other_key_variables` count where it isn't set. `domains`: where else its
    servers are, with all below. `key_header`: where the key goes, if not into `Authorization`. `keyless`: it usually
    wants none.
    """

    base_url: str
    key_variable: str
    domains: tuple[str, ...] = ()
    key_header: str | None = None
    keyless: bool = False
    other_key_variables: tuple[str, ...] = ()

    def is_at(self, host: str) -> bool:
        """Whether the server of that name is this company's. Nobody owns this machine."""
        own = urlsplit(self.base_url).hostname
        named = (*self.domains, *([own] if own else []))
        return not _is_local(host) and any(host == name or host.endswith(f".{name}") for name in named)


OPENAI = Service("https://api.openai.com/v1", "OPENAI_API_KEY", domains=("openai.com",))
ANTHROPIC = Service("https://api.anthropic.com", "ANTHROPIC_API_KEY", domains=("anthropic.com",))
GOOGLE = Service("https://generativelanguage.googleapis.com", "GEMINI_API_KEY", other_key_variables=("GOOGLE_API_KEY",))
VERTEX = Service("", "GOOGLE_OAUTH_ACCESS_TOKEN", domains=("googleapis.com",))
MISTRAL = Service("https://api.mistral.ai", "MISTRAL_API_KEY", domains=("mistral.ai",))
AWS = Service("", "AWS_BEARER_TOKEN_BEDROCK", domains=("amazonaws.com", "amazonaws.com.cn", "api.aws"))

_AZURE = Service("", "AZURE_OPENAI_API_KEY", domains=("azure.com", "azure.us"), key_header="api-key")

#: Others that speak OpenAI's protocols, by `model.provider`.
COMPATIBLE: Mapping[str, Service] = MappingProxyType(
    {
        "azure": _AZURE,
        "azure-openai": _AZURE,
        "deepseek": Service("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        "fireworks": Service("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        "google": replace(GOOGLE, base_url="https://generativelanguage.googleapis.com/v1beta/openai"),
        "google-vertex": VERTEX,
        "groq": Service("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        "lmstudio": Service("http://localhost:1234/v1", "LMSTUDIO_API_KEY", keyless=True),
        "ollama": Service("http://localhost:11434/v1", "OLLAMA_API_KEY", keyless=True),
        "openrouter": Service("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        "perplexity": Service("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
        "together": Service("https://api.together.xyz/v1", "TOGETHER_API_KEY", domains=("together.ai",)),
        "vertex": VERTEX,
        "vllm": Service("http://localhost:8000/v1", "VLLM_API_KEY", keyless=True),
    }
)

_COMPANIES = {
    "anthropic": ANTHROPIC,
    "amazon-bedrock": AWS,
    "bedrock": AWS,
    "mistral": MISTRAL,
    "openai": OPENAI,
    **COMPATIBLE,
}

#: What the command line calls the owner of a server that it doesn't know. There the api's own key is asked for.
_ANYBODYS = "custom"


def service_behind(base_url: str, provider: str, own: Service) -> Service | None:
    """Whose key goes to `base_url`: that of the company whose server it is, otherwise of the one named by `provider`.

    `own`: the service of the api itself, for servers on this machine and models that say `custom`. None: nobody knows
    whose server it is, so no key of the environment is for it.
    """
    host = urlsplit(base_url).hostname or ""
    for service in (own, *_COMPANIES.values()):
        if service.is_at(host):
            return service
    if provider in _COMPANIES:
        return _COMPANIES[provider]
    return own if provider == _ANYBODYS or _is_local(host) else None


def names_of(service: Service) -> list[str]:
    """What the company is called in `Model.provider`, and in what is stored for it."""
    return [name for name, named in _COMPANIES.items() if named.key_variable == service.key_variable]


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
