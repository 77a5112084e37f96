# Weir with everything it needs, including a nats-server for `weir serve`.
#
#   docker build -t weir --build-arg BUILT_FROM="$(git log -1 --format='%H %cs')" .
#   docker run --name weir --init -v weir-data:/data -p 127.0.0.1:8080:8080 \
#     --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges weir
#   docker exec weir weir account list
#
# For roles that use a ClickHouse server, --build-arg OMIT=optional leaves the embedded one out, which is most of the image.
# For both architectures: docker buildx build --platform linux/amd64,linux/arm64 …

# What is built is the same for every architecture, so the builder's own does it.
FROM --platform=$BUILDPLATFORM node:24.18.1-bookworm-slim@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7 AS build
WORKDIR /weir
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json ./
COPY config config
COPY fixtures fixtures
# The console shows recipes of the documents.
COPY docs/recipes docs/recipes
# The API serves this one.
COPY docs/doctor.md docs/doctor.md
COPY src src
# The commit, which `weir --version` says: the builder gets no .git.
ARG BUILT_FROM
RUN node config/prepare.mjs --no-nats-server

# Some packages have a part for each architecture.
FROM node:24.18.1-bookworm-slim@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7 AS packages
WORKDIR /weir
COPY package.json package-lock.json ./
ARG OMIT=dev
RUN npm ci --omit=dev --omit="$OMIT" --no-audit --no-fund

FROM node:24.18.1-bookworm-slim@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7
# Debian's nats-server is of 2022. This one is built without cgo, so it runs here although it comes from Alpine.
COPY --from=nats:2.15.0-alpine@sha256:ac8f88a6494bffc2c2a5289a0ca61cb28a9145c11ba5677cf24265d07f46d8d4 /usr/local/bin/nats-server /usr/local/bin/nats-server
RUN install -d -o node -g node /data \
  && ln -s /weir/src/weir.mjs /usr/local/bin/weir
WORKDIR /weir
COPY --from=packages /weir/node_modules node_modules
COPY --from=build /weir/package.json ./
COPY --from=build /weir/dist/programs dist/programs
COPY --from=build /weir/dist/console dist/console
COPY --from=build /weir/dist/playground dist/playground
COPY --from=build /weir/dist/reference dist/reference
COPY --from=build /weir/dist/geo dist/geo
# The command, and what finds the nats-server: all else that it starts is built.
COPY src/weir.mjs src/weir.mjs
COPY src/delivery/nats-server/find-nats-server.mjs src/delivery/nats-server/find-nats-server.mjs
COPY config/default.jsonc config/fetch-nats-server.mjs config/nats-server-sources.mjs config/provide-nats-server.mjs config/
COPY fixtures/records fixtures/records

ENV NODE_ENV=production WEIR_HOST=0.0.0.0 WEIR_PORT=8080 WEIR_DATA_DIR=/data
# The user node, as a number: Kubernetes can then see that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "Promise.any(['WEIR_API_OPS_PORT', 'WEIR_OPS_PORT', 'WEIR_PORT'].map((name) => fetch(`http://127.0.0.1:${process.env[name]}/healthz`).then((answer) => answer.ok || Promise.reject()))).then(() => process.exit(0), () => process.exit(1))"]
ENTRYPOINT ["weir"]
CMD ["serve"]
