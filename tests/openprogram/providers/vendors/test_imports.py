"""What is imported when, looked at in interpreters of their own."""

import subprocess
import sys
import textwrap


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_providers_are_there_before_any_sdk_is_imported() -> None:
    loaded = run(
        """
        import sys
        from openprogram.providers.vendors import vendor_providers
        assert "bedrock-converse-stream" in vendor_providers()
        sdks = ("pydantic_ai", "anthropic", "openai", "boto3", "botocore", "mistralai", "httpx2")
        print([name for name in sdks if name in sys.modules])
        """
    )
    assert loaded == "[]"


def test_a_missing_extra_is_named_when_a_call_is_made() -> None:
    said = run(
        """
        import asyncio, sys
        sys.modules["anthropic"] = None  # what an import finds where the package is not installed
        from openprogram.providers.types import Context, Model
        from openprogram.providers.vendors import MissingExtra, vendor_providers

        async def main() -> None:
            model = Model(id="m", api="anthropic-messages", provider="anthropic")
            stream = vendor_providers()["anthropic-messages"].stream(model, Context())
            try:
                await anext(stream)
            except MissingExtra as missing:
                print(missing)

        asyncio.run(main())
        """
    )
    assert said == "calls to 'anthropic-messages' need the extra 'anthropic': pip install \"openprogram[anthropic]\""


def test_an_api_loads_its_own_sdk_alone() -> None:
    loaded = run(
        """
        import sys
        from openprogram.providers.vendors import VENDOR_APIS
        [row] = [row for row in VENDOR_APIS if row.api == "openai-completions"]
        row.load()
        print("openai" in sys.modules, "anthropic" in sys.modules)
        """
    )
    assert loaded == "True False"


def test_a_missing_key_is_told_before_any_sdk_is_imported() -> None:
    told = run(
        """
        import asyncio, sys
        from openprogram.providers.types import Context, Model
        from openprogram.providers.vendors import VENDOR_APIS, vendor_providers

        async def main() -> None:
            providers = vendor_providers(environ={}, now_ms=lambda: 1)
            for row in VENDOR_APIS:
                if row.finds_credentials:
                    continue
                model = Model(id="m", api=row.api, provider=row.extra)
                message = await providers[row.api].stream(model, Context())
                print(message.error_reason, message.error_message.split(" ")[6].removesuffix("_API_KEY,"))

        asyncio.run(main())
        sdks = ("pydantic_ai", "anthropic", "openai", "google.genai", "mistralai", "httpx2")
        print([name for name in sdks if name in sys.modules])
        """
    )
    assert told.splitlines() == ["auth ANTHROPIC", "auth OPENAI", "auth OPENAI", "auth GEMINI", "auth MISTRAL", "[]"]


def test_a_missing_extra_is_told_before_a_missing_key() -> None:
    told = run(
        """
        import asyncio, sys
        from openprogram.providers.types import Context, Model
        from openprogram.providers.vendors import VENDOR_APIS, MissingExtra, vendor_providers

        async def main() -> None:
            providers = vendor_providers(environ={})
            for row in VENDOR_APIS:
                sys.modules[row.sdk] = None
                try:
                    await providers[row.api].stream(Model(id="m", api=row.api, provider=row.extra), Context())
                except MissingExtra as missing:
                    print(missing.extra)

        asyncio.run(main())
        """
    )
    assert told.split() == ["anthropic", "openai", "openai", "google", "bedrock", "mistral"]
