"""What other projects find by their own plugin interfaces while a program runs on the simulator.

The modules of this folder, and a distribution that names their entry points, lie in the simulator's own
``python/site-packages``: on PYTHONPATH on the simulator, and nowhere else.
"""

DISTRIBUTION = "ophook_sim_plugins"
ENTRY_POINTS = """\
[torch.backends]
ophook_sim_fault = ophook_sim_fault:begin

[vllm.general_plugins]
ophook_sim = ophook_sim_vllm:register

[triton.backends]
ophook_sim = ophook_sim_triton
"""
