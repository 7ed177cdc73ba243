"""A page of HTML that needs no other file: its head, its colours, and the policy that forbids any request."""

from __future__ import annotations

from html import escape

#: Colours of Okabe and Ito's palette, which colour-blind readers can tell apart, mixed with the background.
STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1b1b1b; --soft: #595959; --line: #c9c9c9; --panel: #f5f5f5;
  --accent: #00557f; --c0: #cfe8f7; --c1: #fbe3b5; --c2: #cdebdf; --c3: #f6d5e6; --c4: #e4e2f6; --c5: #f3efb0;
  --special: #3d2b52; --special-ink: #fff; --part: #b00020 }
@media (prefers-color-scheme: dark) { :root { --back: #16181c; --ink: #ececec; --soft: #a8adb5; --line: #444a53;
  --panel: #20242a; --accent: #8ecdf5; --c0: #14425f; --c1: #5a4210; --c2: #0e4d3a; --c3: #5c2544; --c4: #3a3670;
  --c5: #4b4709; --special: #d9c8f2; --special-ink: #1c1029; --part: #ff8a95 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem 1.25rem 3rem; max-width: 100rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.35rem; margin: .2rem 0 .8rem } h2 { font-size: 1.05rem; margin: 1rem 0 .3rem }
a { color: var(--accent) } p { max-width: 60rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th { font-weight: 600 } thead th { color: var(--soft) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px }
"""


def page(title: str, body: str, *, style: str = "", script: str = "", nonce: str = "") -> str:
    """Return a whole page; `body` is HTML that is already escaped, with a heading and a `main`.

    The policy in the head lets the page make no request; a script runs only with the `nonce`.
    """
    scripts = f"script-src 'nonce-{nonce}'" if script else "script-src 'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; {scripts}"
    code = f'<script nonce="{nonce}">{script}</script>' if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>{body}{code}</body></html>\n"
    )
