{{/* The claim of a volume. */}}
{{- define "weir.claim" -}}
metadata: { name: {{ .name }} }
spec:
  accessModes: [ReadWriteOnce]
  {{- with .storage.className }}
  storageClassName: {{ . }}
  {{- end }}
  resources: { requests: { storage: {{ .storage.size }} } }
{{- end }}

{{/* Over what the pods of a part are spread, as far as there is room. */}}
{{- define "weir.spread" -}}
{{- range .root.Values.topologyKeys }}
- topologyKey: {{ . }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector: {{ include "weir.match" $ }}
{{- end }}
{{- end }}
