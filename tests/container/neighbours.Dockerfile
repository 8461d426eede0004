# What stands beside Baton in compose.yaml, where there is no registry: Debian's, with as much of the
# official images of these names as compose.yaml relies on.

FROM docker.io/library/debian:trixie-slim AS redis
RUN apt-get -q update && apt-get -q install -y --no-install-recommends redis-server && \
    mkdir /data && chown redis:redis /data
VOLUME /data

FROM docker.io/library/debian:trixie-slim AS haproxy
RUN apt-get -q update && apt-get -q install -y --no-install-recommends haproxy
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
