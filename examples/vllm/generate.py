"""Generate greedily with vLLM, as its users do: python generate.py FOLDER [ARGUMENTS OF LLM AS JSON]

FOLDER holds a model, and tokens.json: {"prompts": [[token, …], …]}. Prints the generated tokens as JSON.
"""

import json
import sys
from pathlib import Path

from vllm import LLM, SamplingParams

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    arguments = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    if not arguments.get("enforce_eager"):
        # A vllm-ascend without compiled kernels of its own looks for them when it is first asked, and where that is
        # inside Dynamo, torch.compile stops at the import that fails. Asked before, it knows the answer.
        from vllm_ascend.utils import enable_custom_op

        enable_custom_op()
    prompts = json.loads((folder / "tokens.json").read_text())["prompts"]
    llm = LLM(model=str(folder), skip_tokenizer_init=True, max_model_len=128, **arguments)
    sampling = SamplingParams(temperature=0, max_tokens=16, ignore_eos=True, detokenize=False)
    outputs = llm.generate([{"prompt_token_ids": prompt} for prompt in prompts], sampling)
    print(json.dumps([list(output.outputs[0].token_ids) for output in outputs]))
