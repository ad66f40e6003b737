# An image with the book's environment and JupyterLab on its notebooks, for a hub or for one's own machine:
#   docker build -t flatcube .  &&  docker run --rm -p 8888:8888 flatcube
FROM python:3.11-slim
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends make git \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 reader
USER reader
WORKDIR /home/reader/book
COPY --chown=reader . .
RUN make .venv/.ready
EXPOSE 8888
CMD [".venv/bin/flatcube", "lab", "--ip=0.0.0.0", "--no-browser"]
