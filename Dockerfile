# Baton as a container image. `make image` builds it (by deploy/container/build.sh).
#
# The last stage starts from nothing and gets batond, redis-server and baton, and their needs: the shared
# libraries that ldd names, the trusted certificates, a user. It has no shell and no package manager,
# and a third of the size of debian:trixie-slim with the same packages. The libraries come from Debian
# with the records of their packages, so that scanners know them, and /usr/share/doc/baton/sbom.spdx.json
# lists them. To update them, build again.

FROM docker.io/library/debian:trixie-slim AS packages
WORKDIR /src
COPY deploy/install-packages.sh deploy/
RUN deploy/install-packages.sh build image

FROM packages AS build
COPY . .
RUN make -s -j"$(nproc)" build/batond build/baton && \
    strip build/batond build/baton && \
    deploy/container/gather.sh /image build/batond build/baton redis-server && \
    install -D -m 644 -t /image/usr/share/doc/baton LICENSE && \
    mkdir -m 700 /state
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=0
# Labels alone do not suffice: if only labels differ, buildah takes the image for the same.
RUN printf '%s\n' IMAGE_ID=baton "IMAGE_VERSION=$VERSION" "BUILD_ID=$REVISION" >>/image/etc/os-release && \
    SOURCE_DATE_EPOCH=$CREATED deploy/container/sbom.sh /image "$VERSION" "$REVISION" \
        >/image/usr/share/doc/baton/sbom.spdx.json

FROM scratch
COPY --from=build /image/ /
# A new volume gets the owner of this folder.
COPY --from=build --chown=65532:65532 /state /var/lib/baton

ARG VERSION=unknown
ARG REVISION=unknown
ARG HOME_URL=unknown
LABEL org.opencontainers.image.title="Baton" \
      org.opencontainers.image.description="A lock service over HTTP, on Redis" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.url="${HOME_URL}" \
      org.opencontainers.image.source="${HOME_URL}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="scratch"

# batond listens on all addresses here, so you must say who may ask: it starts only with
# BATON_TOKENS_FILE, BATON_TLS_CLIENT_CA or BATON_ALLOW_ANONYMOUS=true. The health check below asks at
# BATON_ADMIN_LISTEN; set that to 0.0.0.0:7430 for probes and Prometheus from elsewhere. LD_BIND_NOW:
# docs/security.md, Secrets.
ENV PATH=/usr/bin \
    LD_BIND_NOW=1 \
    BATON_LISTEN=0.0.0.0:7420 \
    BATON_ADMIN_LISTEN=127.0.0.1:7430 \
    BATON_STATE_DIR=/var/lib/baton \
    BATON_SANDBOX=true

# Only the embedded Redis writes here. With BATON_REDIS_URL nothing is written anywhere.
VOLUME /var/lib/baton
EXPOSE 7420
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/bin/batond", "--check"]
ENTRYPOINT ["/usr/bin/batond"]
