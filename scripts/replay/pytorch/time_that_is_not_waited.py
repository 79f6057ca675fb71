"""A step of a profile receives for longer than it communicates alone: no time in its table is below nothing."""

from taken import lay

lay("torch_npu/profiler/analysis/prof_view/_trace_step_time_parser.py")
import torch_npu  # noqa: E402, F401
from torch_npu.profiler.analysis.prof_view import _trace_step_time_parser as parsed  # noqa: E402

rows = []
parsed.FileManager.create_csv_file = lambda path, data, name, title: rows.extend(data)
parser = object.__new__(parsed.TraceStepTimeParser)
step = parsed.Constant
parser.step_range = [{step.STEP_ID: 1, step.START_TS: 1000, step.END_TS: 90000, step.FWK_START_TS: 1000}]
seen = [("Computing", 10), ("Communication", 9), ("Communication(Not Overlapped)", 5), ("hcom_receive", 20)]
trace = [{"name": "process_labels", "pid": 7, "args": {"labels": "NPU 0"}}]
trace += [{"name": name, "pid": 7, "ts": 10, "dur": long} for name, long in seen]
parser.create_step_file("", trace, "step.csv")
times = dict(zip(parsed.TraceStepTimeParser.title, rows[0], strict=True))
rest = times["Communication(Not Overlapped and Exclude Receive)"]
assert rest >= 0, f"communication without receiving takes {rest} us"
