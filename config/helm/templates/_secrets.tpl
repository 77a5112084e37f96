{{/*
The secrets that a role works with, by the variable that names the file, as a list in YAML: those of secretsOf in
src/management/process/role-secrets.ts. Credentials of AWS are found by the SDK.
*/}}
{{- define "weir.secretsOf" -}}
{{- $secrets := .root.Values.secrets -}}
- { variable: NATS_URL_FILE, file: nats-url, from: {{ toJson (index $secrets.natsUrl .part) }} }
{{- if has .part (list "api" "deliver") }}
- { variable: WEIR_SECRET_KEY_FILE, file: secret-key, from: {{ toJson $secrets.secretKey }} }
{{- end }}
{{- if eq .part "api" }}
- { variable: CLICKHOUSE_URL_FILE, file: clickhouse-url, from: {{ toJson $secrets.clickhouseUrl }} }
{{- if $secrets.trialNatsUrl.key }}
- { variable: WEIR_TRIAL_NATS_URL_FILE, file: trial-nats-url, from: {{ toJson $secrets.trialNatsUrl }} }
{{- end }}
{{- if $secrets.bootstrapToken.key }}
- { variable: WEIR_BOOTSTRAP_TOKEN_FILE, file: bootstrap-token, from: {{ toJson $secrets.bootstrapToken }} }
{{- end }}
{{- end }}
{{- end }}

{{/* A volume with the files of these secrets, and no others. */}}
{{- define "weir.secretVolume" -}}
{{- $default := .root.Values.secrets.existingSecret -}}
name: secrets
projected:
  # 0440: for the group of the pod alone.
  defaultMode: 288
  sources:
    {{- range include "weir.secretsOf" . | fromYamlArray }}
    - secret:
        name: {{ default $default .from.secret }}
        items: [{ key: {{ .from.key }}, path: {{ .file }} }]
    {{- end }}
{{- end }}
