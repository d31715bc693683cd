"""Lets Harbor run lathe: harbor run -d DATASET --agent-import-path lathe_agent:Lathe -m anthropic/MODEL

LATHE_BINARY names a static build of lathe for Linux (make build). The key of the model's provider is taken from the
environment of Harbor.
"""

import json
import os
import shlex
from pathlib import Path

from harbor.agents.installed.base import BaseInstalledAgent, ExecInput
from harbor.models.agent.context import AgentContext

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "GEMINI_API_KEY")


class Lathe(BaseInstalledAgent):
    @staticmethod
    def name() -> str:
        return "lathe"

    @property
    def _install_agent_template_path(self) -> Path:
        return Path(__file__).parent / "install.sh.j2"

    async def setup(self, environment) -> None:
        await environment.upload_file(Path(os.environ["LATHE_BINARY"]), "/usr/local/bin/lathe")
        await super().setup(environment)

    def create_run_agent_commands(self, instruction: str) -> list[ExecInput]:
        model = ["--model", self.model_name.split("/", 1)[-1]] if self.model_name else []
        # the container is the boundary
        words = ["lathe", "-p", "--output-format", "stream-json", "--dangerously-skip-permissions", "--sandbox", "off", *model]
        command = shlex.join(words) + " " + shlex.quote(instruction) + " > /logs/agent/lathe.jsonl"
        return [ExecInput(command=command, env={k: os.environ[k] for k in KEYS if k in os.environ})]

    def populate_context_post_run(self, context: AgentContext) -> None:
        log = self.logs_dir / "lathe.jsonl"
        if not log.exists():
            return
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        result = next((x for x in reversed(lines) if x.get("type") == "result"), None)
        if result:
            usage = result.get("usage", {})
            context.cost_usd = result.get("total_cost_usd")
            context.n_output_tokens = usage.get("output_tokens")
            context.n_cache_tokens = usage.get("cache_read_input_tokens")
            context.n_input_tokens = sum(
                usage.get(k) or 0 for k in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
        (self.logs_dir / "trajectory.json").write_text(json.dumps(trajectory(lines, self.model_name), indent=2))


def trajectory(lines: list[dict], model: str | None) -> dict:
    """Turns the lines of stream-json into ATIF."""
    steps, session = [], ""
    for line in lines:
        session = line.get("session_id", session)
        parts = line.get("message", {}).get("content", []) if line.get("type") in ("user", "assistant") else []
        if isinstance(parts, str):
            parts = [{"type": "text", "text": parts}]
        results = [p for p in parts if p["type"] == "tool_result"]
        if results and steps:
            steps[-1].setdefault("observation", {"results": []})["results"] += [
                {"source_call_id": p["tool_use_id"], "content": text(p.get("content"))} for p in results]
            continue
        if not parts:
            continue
        step = {"step_id": len(steps) + 1, "source": "agent" if line["type"] == "assistant" else "user",
                "message": "".join(p["text"] for p in parts if p["type"] == "text")}
        calls = [{"tool_call_id": p["id"], "function_name": p["name"], "arguments": p["input"]}
                 for p in parts if p["type"] == "tool_use"]
        if calls:
            step["tool_calls"] = calls
        steps.append(step)
    return {"schema_version": "ATIF-v1.4", "session_id": session, "steps": steps,
            "agent": {"name": "lathe", "version": "", "model_name": model or ""}}


def text(content) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(p.get("text", "") for p in content)
