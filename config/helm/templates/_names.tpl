{{/* The names of objects begin with it. */}}
{{- define "weir.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-weir" .Release.Name) (hasSuffix "weir" .Release.Name) -}}
{{- default $name .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* What selects the pods of a part: (dict "root" $ "part" "api"). */}}
{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* The same as a selector on one line. */}}
{{- define "weir.match" -}}
{ matchLabels: {{ include "weir.selector" . | fromYaml | toJson }} }
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Name and labels of an object of a part. */}}
{{- define "weir.metadata" -}}
name: {{ include "weir.fullname" .root }}-{{ .part }}
labels: {{- include "weir.labels" . | nindent 2 }}
{{- end }}

{{- define "weir.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end -}}
{{- end }}

{{/* Is the number of pods left to an autoscaler? */}}
{{- define "weir.scaled" -}}
{{- with index .root.Values .part }}{{ if and .autoscaling.enabled (gt (int .replicas) 0) }}yes{{ end }}{{ end }}
{{- end }}
