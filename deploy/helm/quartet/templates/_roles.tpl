{{/* The roles, their ports and whom they call, as services/suite/roles.go has them. */}}
{{- define "roles" }}
roles:
  - {name: gateway, port: 7300, redis: true, calls: [router, search, recommend, promotions, support]}
  - {name: router, port: 7301, redis: false, calls: []}
  - {name: search, port: 7302, redis: true, calls: []}
  - {name: recommend, port: 7303, redis: true, calls: [search, support]}
  - {name: promotions, port: 7304, redis: true, calls: [search, recommend]}
  - {name: support, port: 7305, redis: true, calls: []}
{{- end }}
{{- define "selector" -}}
app.kubernetes.io/name: quartet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/part-of: quartet
app.kubernetes.io/version: {{ .Values.version | quote }}
{{- end }}
