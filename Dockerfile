# torch_npu over a simulated Ascend: docker build -t ophook-npu . && docker run --rm ophook-npu train.py
ARG PYTHON=3.11
FROM python:${PYTHON}-slim
ARG TORCH_NPU=2.13.0
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
COPY . /opt/ophook-npu
# The cache of compiled libraries is the user's: who runs the image as somebody else has it built once more.
RUN bash /opt/ophook-npu/scripts/install_pair.sh python3 "$TORCH_NPU" && rm -rf ~/.cache/pip
WORKDIR /work
ENTRYPOINT ["ophook-npu", "run", "--"]
