"""Tokens that their own shape gives away: a prefix that the issuer chose, then a body."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from openprogram.pipeline.redaction.judge import is_random
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Match, Span, kept, rest_of

__all__ = ["TOKEN_RULES"]

_ALNUM: Final = "A-Za-z0-9"
_WORD: Final = "A-Za-z0-9_-"
_HEX: Final = "0-9a-fA-F"
_B64: Final = "A-Za-z0-9+/=_-"
#: Characters of a body that decide whether it is one.
_HEAD: Final = 40


@lru_cache(maxsize=64)
def _runs(body: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    plain = body.replace(".", "")
    if plain == body:
        pattern = re.compile(f"[{body}]*")
        return pattern, pattern
    return re.compile(f"[{body}]*"), re.compile(rf"(?:[{plain}]|\.(?=[{plain}]))*")


def _mixed(body: str) -> bool:
    return is_random(body, least=12)


def _any(body: str) -> bool:
    return (not body.islower() and not body.isupper()) or any(c.isdigit() for c in body)


def _token(body: str, least: int, accept: Callable[[str], bool], *, head: int, word_start: bool, stays: bool) -> Match:
    run, rest = _runs(body)
    swallow = rest_of(rest)

    def match(reader: Reader, start: int, end: int) -> Span | None:
        if word_start and not reader.at_word_start(start):
            return None
        reader.hold = begin = end if stays else start
        if stays and reader.at_placeholder(end):
            return kept(end)
        stop = reader.run(run, end, head)
        found = reader.text[end:stop].rstrip(".")
        return Span(begin, end, swallow) if len(found) >= least and accept(found) else None

    return match


def _rule(
    name: str,
    source: str,
    prefixes: str,
    body: str,
    least: int,
    example_body: str,
    accept: Callable[[str], bool] = _any,
    *,
    head: int = _HEAD,
    word_start: bool = True,
    stays: bool = False,
) -> Rule:
    first = prefixes.split()[0]
    triggers = tuple(trigger(prefix, direct=not stays) for prefix in prefixes.split())
    match = _token(body, least, accept, head=max(head, least), word_start=word_start, stays=stays)
    return Rule(name, source, f"value {first}{example_body} end", triggers, match)


_R = "Zx4Qm81LwT7vBn2KdP9s"  # a body of no meaning for the examples, 20 characters

_KEBAB: Final = re.compile(r"[A-Za-z]+(?:[_-]{1,2}[A-Za-z]+)*[_-]?\d{0,2}")

_NOT_YET: Final = ("your", "xxx", "...")


def _sk(body: str) -> bool:
    """`sk-` begins keys of many services and class names of style sheets, which are words and small numbers."""
    if (
        len(body) < 6
        or (("-" in body or len(body) < 20) and _KEBAB.fullmatch(body))
        or body.lower().startswith(_NOT_YET)
    ):
        return False
    return (any(c.isdigit() for c in body) and any(c.isalpha() for c in body)) or is_random(body)


_DISCORD: Final = re.compile(r"[A-Za-z0-9_-]{15,26}\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]+")


def _discord(body: str) -> bool:
    return _DISCORD.fullmatch(body) is not None


TOKEN_RULES: Final = (
    _rule(
        "sk-key", "https://platform.openai.com/docs/api-reference/authentication", "sk-", _WORD, 6, f"proj-{_R}", _sk
    ),
    _rule(
        "stripe-key",
        "https://docs.stripe.com/keys",
        "sk_live_ sk_test_ rk_live_ rk_test_",
        "A-Za-z0-9+/=",
        10,
        _R,
    ),
    _rule("webhook-signing-secret", "https://docs.stripe.com/webhooks", "whsec_", "A-Za-z0-9+/=_-", 16, _R, stays=True),
    _rule("elevenlabs-key", "https://elevenlabs.io/docs/api-reference/authentication", "sk_", _HEX, 24, "0a1b2c3d" * 5),
    _rule(
        "github-token",
        "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        _ALNUM,
        12,
        _R + _R[:16],
    ),
    _rule(
        "github-fine-grained-token",
        "https://docs.github.com/en/authentication",
        "github_pat_",
        "A-Za-z0-9_",
        16,
        _R * 3,
        _mixed,
    ),
    _rule(
        "gitlab-token",
        "https://docs.gitlab.com/security/tokens/",
        "glpat- gldt- glrt- glptt- glft- glsoat- glimt- glagent- glcbt- gloas- glffct- GR1348941",
        "A-Za-z0-9_.-",
        12,
        _R,
    ),
    _rule(
        "slack-token",
        "https://docs.slack.dev/authentication/tokens",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe. xapp-",
        "A-Za-z0-9%._-",
        12,
        "12345-" + _R,
    ),
    _rule(
        "slack-webhook",
        "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        "A-Za-z0-9/_-",
        20,
        "T0AB12CD3/B0AB12CD3/" + _R,
        word_start=False,
    ),
    _rule(
        "discord-webhook",
        "https://discord.com/developers/docs/resources/webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        "A-Za-z0-9/_-",
        30,
        f"123456789012345678/{_R}{_R}",
        word_start=False,
    ),
    _rule(
        "teams-webhook",
        "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors",
        ".webhook.office.com/webhookb2/",
        "A-Za-z0-9@/_-",
        30,
        f"0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f@1/IncomingWebhook/{_R}",
        word_start=False,
    ),
    _rule(
        "google-api-key",
        "https://cloud.google.com/docs/authentication/api-keys",
        "AIza",
        _WORD,
        16,
        _R + _R[:15],
        _mixed,
    ),
    _rule(
        "google-oauth-token",
        "https://developers.google.com/identity/protocols/oauth2",
        "ya29.",
        "A-Za-z0-9_.-",
        16,
        "a0" + _R,
        _mixed,
    ),
    _rule(
        "google-refresh-token", "https://developers.google.com/identity/protocols/oauth2", "1//0", _WORD, 16, _R, _mixed
    ),
    _rule("google-client-secret", "https://developers.google.com/identity/protocols/oauth2", "GOCSPX-", _WORD, 12, _R),
    _rule(
        "aws-key-id",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
        "AKIA ASIA ABIA ACCA",
        "A-Z0-9",
        12,
        "Z7Q2M4K8T1W6P3X9",
    ),
    _rule(
        "aws-bedrock-key",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html",
        "ABSK",
        _B64,
        40,
        _R * 3,
        _mixed,
    ),
    _rule(
        "aws-session-token",
        "https://docs.aws.amazon.com/STS/latest/APIReference",
        "IQoJb3JpZ2lu FwoGZXIvYXdz",
        _B64,
        40,
        _R * 3,
        head=48,
    ),
    _rule(
        "azure-client-secret",
        "https://learn.microsoft.com/entra/identity-platform",
        "7Q~ 8Q~ 6Q~ 9Q~ 5Q~",
        "A-Za-z0-9~._-",
        24,
        _R + _R[:14],
        word_start=False,
    ),
    _rule("huggingface-token", "https://huggingface.co/docs/hub/security-tokens", "hf_", _ALNUM, 16, _R),
    _rule("groq-key", "https://console.groq.com/docs", "gsk_", _ALNUM, 16, _R),
    _rule("xai-key", "https://docs.x.ai", "xai-", _ALNUM, 16, _R),
    _rule("perplexity-key", "https://docs.perplexity.ai", "pplx-", _ALNUM, 16, _R),
    _rule("replicate-token", "https://replicate.com/docs", "r8_", _ALNUM, 16, _R),
    _rule("nvidia-key", "https://docs.api.nvidia.com", "nvapi-", _WORD, 20, _R, _mixed),
    _rule("fireworks-key", "https://docs.fireworks.ai", "fw_", _ALNUM, 20, _R, _mixed),
    _rule("tavily-key", "https://docs.tavily.com", "tvly-", _WORD, 16, _R, _mixed, stays=True),
    _rule("langsmith-key", "https://docs.smith.langchain.com", "lsv2_pt_ lsv2_sk_", "A-Za-z0-9_", 16, "0a1b2c3d" * 4),
    _rule(
        "logfire-token", "https://logfire.pydantic.dev/docs", "pylf_v1_ pylf_v2_", "A-Za-z0-9_", 16, f"us_{_R}", _mixed
    ),
    _rule("npm-token", "https://docs.npmjs.com/about-access-tokens", "npm_", _ALNUM, 16, _R),
    _rule("pypi-token", "https://pypi.org/help/#apitoken", "pypi-AgE", _WORD, 16, _R + _R),
    _rule("rubygems-key", "https://guides.rubygems.org/api-key-scopes/", "rubygems_", _HEX, 16, "0a1b2c3d" * 6),
    _rule(
        "cargo-token", "https://doc.rust-lang.org/cargo/reference/registries.html", "cio", _ALNUM, 30, _R + _R, _mixed
    ),
    _rule("docker-token", "https://docs.docker.com/security/access-tokens/", "dckr_pat_ dckr_oat_", _WORD, 12, _R),
    _rule("atlassian-token", "https://id.atlassian.com", "ATATT3 ATCTT3 ATBB", _B64, 16, _R, _mixed),
    _rule("linear-key", "https://linear.app/developers", "lin_api_ lin_oauth_", _ALNUM, 16, _R),
    _rule("notion-token", "https://developers.notion.com", "ntn_", _ALNUM, 16, _R),
    _rule("figma-token", "https://www.figma.com/developers/api", "figd_ figu_", _WORD, 16, _R),
    _rule(
        "postman-key",
        "https://learning.postman.com/docs/developer/postman-api",
        "PMAK-",
        _WORD,
        16,
        "0a1b2c3d" * 3 + "-" + "0a1b2c3d" * 4,
    ),
    _rule(
        "shopify-token",
        "https://shopify.dev/docs/apps/build/authentication-authorization",
        "shpat_ shpca_ shppa_ shpss_ shptka_ shpua_",
        _HEX,
        16,
        "0a1b2c3d" * 4,
    ),
    _rule("square-token", "https://developer.squareup.com", "sq0atp- sq0csp- EAAAE", _WORD, 16, _R, _mixed),
    _rule("sentry-token", "https://docs.sentry.io/account/auth-tokens/", "sntrys_ sntryu_", _B64, 16, "0a1b2c3d" * 8),
    _rule(
        "grafana-token",
        "https://grafana.com/docs/grafana/latest/administration/service-accounts/",
        "glsa_ glc_",
        "A-Za-z0-9_=+/-",
        16,
        _R,
        _mixed,
    ),
    _rule(
        "newrelic-key",
        "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/",
        "NRAK- NRJS- NRII-",
        _WORD,
        16,
        _R,
    ),
    _rule(
        "dynatrace-token",
        "https://docs.dynatrace.com",
        "dt0c01. dt0s01. dt0s16.",
        "A-Z0-9.",
        16,
        "ZX4QM81LWT7VBN2KDP9S",
    ),
    _rule(
        "digitalocean-token",
        "https://docs.digitalocean.com/reference/api/create-personal-access-token/",
        "dop_v1_ doo_v1_ dor_v1_",
        _HEX,
        16,
        "0a1b2c3d" * 8,
    ),
    _rule(
        "vault-token",
        "https://developer.hashicorp.com/vault/docs/concepts/tokens",
        "hvs. hvb. hvr.",
        _WORD,
        16,
        _R,
        _mixed,
    ),
    _rule(
        "terraform-token",
        "https://developer.hashicorp.com/terraform/cloud-docs",
        ".atlasv1.",
        _WORD,
        20,
        _R * 3,
        word_start=False,
    ),
    _rule(
        "pulumi-token",
        "https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/",
        "pul-",
        _HEX,
        16,
        "0a1b2c3d" * 5,
    ),
    _rule(
        "planetscale-token",
        "https://planetscale.com/docs",
        "pscale_tkn_ pscale_pw_ pscale_oauth_",
        "A-Za-z0-9_.-",
        16,
        _R,
    ),
    _rule(
        "supabase-key",
        "https://supabase.com/docs/guides/api/api-keys",
        "sbp_ sb_secret_",
        "A-Za-z0-9_-",
        16,
        "0a1b2c3d" * 5,
    ),
    _rule("fly-token", "https://fly.io/docs/security/tokens/", "fo1_ fm1_ fm2_", _B64, 20, _R + _R, _mixed),
    _rule("heroku-token", "https://devcenter.heroku.com/articles/authentication", "HRKU-", _WORD, 16, _R),
    _rule("netlify-token", "https://docs.netlify.com/api/get-started/", "nfp_ nfc_ nfo_", _ALNUM, 16, _R),
    _rule("databricks-token", "https://docs.databricks.com/dev-tools/auth/pat.html", "dapi", _HEX, 24, "0a1b2c3d" * 4),
    _rule("sendgrid-key", "https://www.twilio.com/docs/sendgrid", "SG.", "A-Za-z0-9_.-", 20, f"{_R}.{_R}{_R}", _mixed),
    _rule("sendinblue-key", "https://developers.brevo.com", "xkeysib- xsmtpsib-", _WORD, 16, "0a1b2c3d" * 8),
    _rule(
        "telegram-bot-token",
        "https://core.telegram.org/bots/api#authorizing-your-bot",
        ":AA",
        _WORD,
        30,
        _R + _R[:15],
        _mixed,
        word_start=False,
    ),
    _rule("age-key", "https://age-encryption.org", "AGE-SECRET-KEY-1", "A-Z0-9", 16, "ZX4QM81LWT7VBN2KDP9S" * 2),
    _rule(
        "1password-key",
        "https://developer.1password.com/docs/service-accounts/",
        "ops_ey",
        _B64,
        20,
        _R * 3,
        stays=True,
    ),
    _rule(
        "facebook-token",
        "https://developers.facebook.com/docs/facebook-login/guides/access-tokens",
        "EAACEd EAAB EAAG EAAJ",
        _ALNUM,
        30,
        _R * 3,
        _mixed,
    ),
    _rule(
        "okta-token",
        "https://developer.okta.com/docs/guides/create-an-api-token/",
        "SSWS ",
        _WORD,
        16,
        "00" + _R,
        _mixed,
    ),
    _rule(
        "typeform-token",
        "https://www.typeform.com/developers",
        "tfp_",
        "A-Za-z0-9_.=-",
        20,
        _R + _R,
        _mixed,
        stays=True,
    ),
    _rule("prefect-key", "https://docs.prefect.io", "pnu_ pnb_", _ALNUM, 16, _R),
    _rule(
        "doppler-token",
        "https://docs.doppler.com/docs/service-tokens",
        "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.",
        "A-Za-z0-9_.-",
        16,
        _R + _R,
    ),
    _rule(
        "infracost-circleci-token",
        "https://circleci.com/docs/managing-api-tokens/",
        "CCIPAT_ CCIPRJ_",
        "A-Za-z0-9_",
        16,
        _R,
        _mixed,
    ),
    _rule(
        "buildkite-token",
        "https://buildkite.com/docs/apis/managing-api-tokens",
        "bkua_ bkaj_",
        _ALNUM,
        16,
        _R,
        stays=True,
    ),
    _rule("cerebras-key", "https://inference-docs.cerebras.ai", "csk-", _ALNUM, 16, _R, stays=True),
    _rule("jina-key", "https://jina.ai", "jina_", _ALNUM, 20, _R + _R, _mixed),
    _rule("voyage-pinecone-key", "https://docs.pinecone.io", "pcsk_", "A-Za-z0-9_-", 24, _R + _R, _mixed),
    _rule("easypost-key", "https://docs.easypost.com", "EZAK EZTK", _ALNUM, 30, _R + _R, _mixed),
    _rule("flutterwave-paystack-key", "https://paystack.com/docs/api/authentication/", "FLWSECK-", _WORD, 12, _R),
    _rule(
        "duffel-contentful-token",
        "https://www.contentful.com/developers/docs/references/authentication/",
        "CFPAT- duffel_live_ duffel_test_",
        _WORD,
        16,
        _R,
    ),
    _rule("mailchimp-adafruit-key", "https://io.adafruit.com/api/docs/", "aio_", _ALNUM, 20, _R, _mixed, stays=True),
    _rule("vercel-token", "https://vercel.com/docs", "vcp_ vci_ vca_ vercel_blob_rw_", "A-Za-z0-9_", 16, _R),
    _rule("posthog-key", "https://posthog.com/docs/api", "phx_ phs_", _ALNUM, 20, _R),
    _rule("tailscale-key", "https://tailscale.com/kb/1101/api", "tskey-", _WORD, 12, f"auth-{_R}", stays=True),
    _rule("artifactory-key", "https://jfrog.com/help", "AKCp cmVmdGtu", _B64, 30, _R * 3, _mixed),
    _rule("clojars-token", "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens", "CLOJARS_", _ALNUM, 20, _R * 3),
    _rule(
        "discord-bot-token",
        "https://discord.com/developers/docs/reference#authentication",
        "MT MD Mj Mz ND NT Nj Nz OD OT",
        "A-Za-z0-9_.-",
        32,
        "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.Zx4Qm81LwT7vBn2KdP9sZx4Qm81",
        _discord,
    ),
)
