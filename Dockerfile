# The project with its environment: `docker build -t spacy-longtail .`, then
# `docker run --rm spacy-longtail` trains on the corpus that comes with it, and
# `docker run --rm -it --user "$(id -u):$(id -g)" -v "$PWD:/data" spacy-longtail bash` opens a shell with
# the commands, whose files in /data are yours.
FROM python:3.11-slim

RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/spacy-longtail
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".[report,tune]"

CMD ["python", "-m", "weasel", "run", "all"]
