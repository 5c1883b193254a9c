"""Secrets that are known by how they begin: keys and tokens that their makers gave a prefix of their own."""

from __future__ import annotations

from dataclasses import dataclass

_WORD = r"[\w-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
# Of those that do not begin in a way of their own.
ANYTHING = ("",)
# The first letters of a user's number in base64, which is how a Discord token begins.
_DISCORD = ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")


@dataclass(frozen=True, slots=True)
class Token:
    """A kind of secret: the letters it begins with, and an expression for all that follows them.

    Within the token, or right after its beginning, stands a run of at least 15 letters, digits, - and _: by those runs
    tokens are looked for.
    """

    kind: str
    beginnings: tuple[str, ...]
    rest: str


def _more(least: int, letters: str = _ALNUM) -> str:
    return rf"{letters}{{{least},}}+"


def _exactly(number: int, letters: str = _ALNUM) -> str:
    return rf"{letters}{{{number}}}(?![\w-])"


TOKENS: tuple[Token, ...] = (
    # Clouds and where things are hosted.
    Token("aws-key-id", ("AKIA", "ASIA", "ABIA", "ACCA"), _exactly(16, "[A-Z0-9]")),
    Token("google-key", ("AIza",), _more(30, _WORD)),
    Token("google-key", ("GOCSPX-",), _more(20, _WORD)),
    Token("google-key", ("ya29.",), _more(20, _WORD)),
    Token("google-key", ("1//",), rf"0{_more(30, _WORD)}"),
    Token("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), _more(32, _HEX)),
    Token("heroku-key", ("HRKU-",), _more(20, _WORD)),
    Token("cloudflare-token", ("cfut_", "cfat_", "cfk_"), _more(32, _WORD)),
    Token("fly-token", ("fo1_", "fm1a_", "fm1r_"), _more(30, r"[\w+/=,-]")),
    Token("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"), _more(20, r"\w")),
    Token("netlify-token", ("nfp_", "nfo_", "nfc_", "nfu_", "nfb_"), _more(30, _ALNUM)),
    Token("tailscale-key", ("tskey-",), rf"[a-z]++-{_more(10, _WORD)}"),
    Token("azure-key", ANYTHING, r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?!\w)"),
    Token("azure-key", ANYTHING, r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9+/]{14,}+={0,2}"),
    # Models.
    Token("anthropic-key", ("sk-ant-",), _more(8, _WORD)),
    # Of our own keys the first eight letters are shown, to tell them apart.
    Token("sekha-key", ("sk-sekha-",), _more(16, _WORD)),
    Token("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), _more(16, _WORD)),
    Token("openrouter-key", ("sk-or-v1-",), _more(16, _WORD)),
    Token("langfuse-key", ("sk-lf-",), _more(16, _WORD)),
    Token("openai-key", ("sk-",), rf"{_more(20)}[\w-]*+"),
    Token("huggingface-token", ("hf_", "api_org_"), _more(20)),
    Token("groq-key", ("gsk_",), _more(30)),
    Token("replicate-token", ("r8_",), _more(30)),
    Token("perplexity-key", ("pplx-",), _more(30)),
    Token("xai-key", ("xai-",), _more(40)),
    Token("cerebras-key", ("csk-",), _more(30)),
    Token("elevenlabs-key", ("sk_",), _exactly(48, _HEX)),
    Token("nvidia-key", ("nvapi-",), _more(30, _WORD)),
    Token("langsmith-key", ("lsv2_pt_", "lsv2_sk_"), _more(30, r"\w")),
    Token("fireworks-key", ("fw_",), _exactly(22)),
    Token("pinecone-key", ("pcsk_",), _more(30, r"\w")),
    Token("tavily-key", ("tvly-",), _more(20, _WORD)),
    Token("jina-key", ("jina_",), _more(40)),
    Token("voyage-key", ("pa-",), _exactly(43, _WORD)),
    Token("wandb-key", ("wandb_v1_",), _more(30, r"\w")),
    # Where code and packages live.
    Token("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _more(16)),
    Token("github-token", ("github_pat_",), _more(20, r"\w")),
    Token(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-",
         "glffct-"),
        rf"{_more(16, _WORD)}(?:\.[\w-]++)*+",
    ),
    Token("bitbucket-password", ("ATBB",), _more(28, r"[A-Za-z0-9=]")),
    Token("npm-token", ("npm_",), _more(30)),
    Token("pypi-token", ("pypi-AgE",), _more(16, _WORD)),
    Token("crates-token", ("cio",), _exactly(32)),
    Token("docker-token", ("dckr_pat_", "dckr_oat_"), _more(20, _WORD)),
    Token("rubygems-key", ("rubygems_",), _more(32, _HEX)),
    Token("clojars-token", ("CLOJARS_",), _more(40, _HEX)),
    Token("jfrog-key", ("AKCp",), _more(64)),
    Token("sourcegraph-token", ("sgp_",), _more(40, r"\w")),
    # Talking, mail and paying.
    Token("slack-token", ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
          _more(10, r"[\w%-]")),
    Token("slack-token", ("xapp-",), rf"\d-{_more(10, _WORD)}"),
    Token("discord-token", _DISCORD, rf"{_WORD}{{21,26}}\.[\w-]{{6}}\.[\w-]{{25,40}}(?![\w-])"),
    Token("telegram-token", ("AA",), r"(?<=\d{8}:AA)[\w-]{32,34}(?![\w-])"),
    Token("sendgrid-key", ("SG.",), rf"{_more(16, _WORD)}\.{_more(16, _WORD)}"),
    Token("mailchimp-key", ANYTHING, rf"{_HEX}{{32}}-us\d{{1,2}}(?!\w)"),
    Token("mailgun-key", ("key-",), _exactly(32, _HEX)),
    Token("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"{_HEX}{{32,}}+(?:-{_ALNUM}{{8,}}+)?"),
    Token("twilio-key", ("SK",), _exactly(32, _HEX)),
    Token("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), _more(10)),
    Token("stripe-key", ("whsec_",), _more(16, r"[A-Za-z0-9+/=]")),
    Token("square-token", ("EAAA",), _more(56, _WORD)),
    Token("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), _more(20, _WORD)),
    Token("facebook-token", ("EAAC", "EAAD", "EAAG", "EAAM"), _more(80)),
    Token("shopify-token", ("shpat_", "shpss_", "shpca_", "shppa_"), _more(32)),
    Token("razorpay-key", ("rzp_live_", "rzp_test_"), _more(14)),
    Token("flutterwave-key", ("FLWSECK-", "FLWSECK_TEST-"), _more(12, _WORD)),
    Token("shippo-token", ("shippo_live_", "shippo_test_"), _more(32, _HEX)),
    # Watching, data and work.
    Token("vault-token", ("hvs.", "hvb.", "hvr."), _more(20, _WORD)),
    Token("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), _more(40)),
    Token("dynatrace-token", ("dt0c01.", "dt0s01."), r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Token("dropbox-token", ("sl.", "sl.u."), _more(100, _WORD)),
    Token("mapbox-token", ("sk.",), rf"eyJ{_more(30, _WORD)}\.{_more(16, _WORD)}"),
    Token("newrelic-key", ("NRAK-", "NRJS-", "NRII-", "NRRA-"), _more(19, _WORD)),
    Token("sentry-token", ("sntrys_", "sntryu_"), _more(30, r"[\w+/=]")),
    Token("grafana-token", ("glc_", "glsa_"), _more(30, r"[\w+/=]")),
    Token("grafana-token", ("eyJrIjoi",), _more(40, r"[A-Za-z0-9+/=]")),
    Token("supabase-key", ("sbp_", "sb_secret_"), _more(20, _WORD)),
    Token("planetscale-key", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), _more(24, r"[\w.=-]")),
    Token("databricks-token", ("dapi",), rf"{_HEX}{{32}}(?:-\d)?(?![\w-])"),
    Token("linear-key", ("lin_api_", "lin_oauth_"), _more(32)),
    Token("notion-token", ("secret_",), _exactly(43)),
    Token("notion-token", ("ntn_",), _more(40)),
    Token("airtable-token", ("pat",), rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    Token("figma-token", ("figd_", "figu_", "figo_"), _more(30, _WORD)),
    Token("postman-key", ("PMAK-",), rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    Token("atlassian-token", ("ATATT3", "ATCTT3"), _more(40, r"[\w=-]")),
    Token("hubspot-token", ("pat-na1-", "pat-na2-", "pat-eu1-"), _UUID),
    Token("pulumi-token", ("pul-",), _exactly(40, _HEX)),
    Token("prefect-key", ("pnu_", "pnb_"), _more(30)),
    Token("launchdarkly-key", ("sdk-", "api-", "mob-"), _UUID),
    Token("onepassword-token", ("ops_eyJ",), _more(100, r"[\w+/=-]")),
    Token("contentful-token", ("CFPAT-",), _more(40, _WORD)),
    Token("age-key", ("AGE-SECRET-KEY-1",), _more(40, "[A-Z0-9]")),
    # What anyone may make.
    Token("jwt", ("eyJ",), r"[\w-]{8,}+\.(?:eyJ[\w-]{4,}+\.[\w-]*+|[\w-]*+\.[\w-]++\.[\w-]++\.[\w-]++)"),
    # A private key once more in base64, as in a kubeconfig; certificates and public keys are none.
    Token("private-key", ("LS0tLS1CRUdJTi",), r"(?!BDRVJU|BQVUJM|BYNTA5)[A-Za-z0-9+/]{40,}+={0,2}"),
)  # fmt: skip
