#!/bin/sh
# Prints the Secrets that the chart expects, with new keys and passwords, for its own NATS and ClickHouse:
#
#   sh config/helm/secret.sh > weir-secrets.yaml && kubectl apply --namespace weir --filename weir-secrets.yaml
#
# The first argument is the name that all objects of the release begin with (weir), the second the number of NATS servers (3).
# Run it once, and keep the file in a safe place: without secret-key, nothing that it sealed can be read again.
set -eu
umask 077

name=${1:-weir}
servers=${2:-3}

random() { openssl rand -hex 24; }

# The address of all servers, each by itself, for a user.
nats_url() {
  at=0
  url=nats://$1:$2@
  while [ "$at" -lt "$servers" ]; do
    [ "$at" = 0 ] || url=$url,nats://
    url=$url$name-nats-$at.$name-nats:4222
    at=$((at + 1))
  done
  printf '%s' "$url"
}

api=$(random) pipeline=$(random) deliver=$(random) trial=$(random) clickhouse=$(random)

cat <<END
apiVersion: v1
kind: Secret
metadata: { name: weir }
stringData:
  secret-key: $(openssl rand -base64 32)
  bootstrap-token: $(random)
  clickhouse-url: http://weir:$clickhouse@$name-clickhouse:8123/default
  nats-url-api: $(nats_url api "$api")
  nats-url-pipeline: $(nats_url pipeline "$pipeline")
  nats-url-deliver: $(nats_url deliver "$deliver")
  nats-url-trial: $(nats_url trial "$trial")
---
apiVersion: v1
kind: Secret
metadata: { name: weir-clickhouse }
stringData:
  password: $clickhouse
---
# The quotation marks belong to the values: nats-server reads a variable as a part of its configuration.
apiVersion: v1
kind: Secret
metadata: { name: weir-nats }
stringData:
  NATS_API_PASSWORD: '"$api"'
  NATS_PIPELINE_PASSWORD: '"$pipeline"'
  NATS_DELIVER_PASSWORD: '"$deliver"'
  NATS_TRIAL_PASSWORD: '"$trial"'
END
for user in ADMIN INGRESS TUNNELS OPERATOR SERVICES EVENTS ROUTES; do
  echo "  NATS_${user}_PASSWORD: '\"$(random)\"'"
done
