"""Run a server whose tokenizers have the engine of bbpe: `python serve_patched.py MODULE ARGUMENTS`.

Examples: `python serve_patched.py sglang.launch_server --model-path Qwen/Qwen3-8B` and
`python serve_patched.py vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B`.
"""

import runpy
import sys

import bbpe

# the processes that a server spawns import this file too, so their tokenizers are accelerated as well
bbpe.patch_transformers()


def main(module: str, *arguments: str) -> None:
    """Run a module as the program."""
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
