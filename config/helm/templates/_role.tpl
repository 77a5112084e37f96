{{/* A container may do nothing but run: in every pod of the chart. */}}
{{- define "weir.contained" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "weir.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "weir.env" -}}
{{- $role := .part -}}
{{- range include "weir.secretsOf" . | fromYamlArray }}
- { name: {{ .variable }}, value: /run/secrets/weir/{{ .file }} }
{{- end }}
{{- /* decide connects as the user of the pipeline. */}}
- { name: WEIR_NATS_INBOX_PREFIX, value: _INBOX.{{ ternary "pipeline" $role (eq $role "decide") }} }
{{- if eq $role "decide" }}
- { name: WEIR_DECIDE_PORT, value: '8081' }
{{- end }}
{{- with (index .root.Values $role).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "weir.probes" -}}
# Pods get requests once all has worked for the first time: a role waits for NATS, ClickHouse, and an API that makes the streams.
startupProbe: { httpGet: { path: /readyz, port: http }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 360 }
livenessProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }
{{- if eq .part "api" }}
readinessProbe: { httpGet: { path: {{ .root.Values.api.readinessPath }}, port: http }, periodSeconds: 5, timeoutSeconds: 5 }
{{- else if eq .part "decide" }}
# It answers from memory, also while NATS is away, so proxies go on to be served. The port is open once it has a configuration.
readinessProbe: { tcpSocket: { port: decide }, periodSeconds: 5, timeoutSeconds: 5 }
{{- else }}
readinessProbe: { httpGet: { path: /readyz, port: http }, periodSeconds: 5, timeoutSeconds: 5 }
{{- end }}
{{- end }}

{{- define "weir.container" -}}
{{- $values := index .root.Values .part -}}
name: {{ .part }}
image: {{ include "weir.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [{{ .part }}]
envFrom: [{ configMapRef: { name: {{ include "weir.fullname" .root }}-settings } }]
env: {{- include "weir.env" . | trim | nindent 2 }}
ports:
  - { name: http, containerPort: 8080 }
  {{- if eq .part "decide" }}
  - { name: decide, containerPort: 8081 }
  {{- end }}
{{ include "weir.probes" . }}
securityContext: {{- include "weir.contained" . | nindent 2 }}
resources: {{- toYaml $values.resources | nindent 2 }}
volumeMounts:
  - { name: secrets, mountPath: /run/secrets/weir, readOnly: true }
  - { name: data, mountPath: /data }
  - { name: tmp, mountPath: /tmp }
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "weir.pod" -}}
{{- $values := index .root.Values .part -}}
serviceAccountName: {{ include "weir.fullname" .root }}-{{ .part }}
automountServiceAccountToken: false
# Kubernetes would set variables such as WEIR_DECIDE_PORT for the Services of this namespace.
enableServiceLinks: false
# The pause container reaps what children of a role leave behind.
shareProcessNamespace: true
# Longer than a role takes to finish and acknowledge its work.
terminationGracePeriodSeconds: 45
securityContext: {{- include "weir.podSecurity" 1000 | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - {{- include "weir.container" . | nindent 4 }}
volumes:
  - {{- include "weir.secretVolume" . | nindent 4 }}
  # Addresses that commands use in this pod.
  - { name: data, emptyDir: {} }
  - { name: tmp, emptyDir: {} }
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with include "weir.spread" . }}
topologySpreadConstraints: {{- . | trim | nindent 2 }}
{{- end }}
{{- with .root.Values }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
{{- end }}
