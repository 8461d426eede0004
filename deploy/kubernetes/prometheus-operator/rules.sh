#!/bin/sh
# Prints deploy/prometheus' rules and alerts as what the Prometheus operator reads:
#   deploy/kubernetes/prometheus-operator/rules.sh | kubectl apply -n baton -f -
set -eu
cd "$(dirname "$0")/../../prometheus"

cat <<'HEAD'
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: baton
  labels:
    app.kubernetes.io/name: baton
spec:
  groups:
HEAD
for file in rules.yml alerts.yml; do
    sed -e '1,/^groups:/d' -e 's/^/  /' "$file"
done
