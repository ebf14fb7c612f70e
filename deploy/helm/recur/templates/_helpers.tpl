{{- define "recur.labels" -}}
app.kubernetes.io/name: recur
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: recur
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "recur.selector" -}}
app.kubernetes.io/name: recur
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "recur.image" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}recur-{{ .app }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* One setting from a Secret. */}}
{{- define "recur.fromSecret" -}}
- name: {{ .key }}
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .key }}{{ if .optional }}, optional: true{{ end }} } }
{{- end }}

{{/* The settings of one app: those of the deployment, its secrets, and what values give it. */}}
{{- define "recur.env" -}}
{{- $values := .root.Values -}}
- { name: RECUR_ENV, value: {{ $values.environment | quote }} }
- { name: LOG_LEVEL, value: {{ $values.logLevel | quote }} }
{{ include "recur.fromSecret" (dict "key" "NATS_URL" "secret" .it.secret) }}
{{- if ne .app "catalog" }}
- { name: BASE_URL, value: {{ required "baseUrl is where clients reach the gateway" $values.baseUrl | quote }} }
{{- end }}
{{- if has .app (list "identity" "catalog" "billing") }}
- { name: PORTAL_BASE, value: {{ $values.portalBase | default (printf "%s/portal" $values.baseUrl) | quote }} }
{{- end }}
{{- if eq .app "gateway" }}
{{ include "recur.fromSecret" (dict "key" "CALLER_KEYS" "secret" .it.secret) }}
{{- else }}
{{ include "recur.fromSecret" (dict "key" "DATABASE_URL" "secret" .it.secret) }}
{{ include "recur.fromSecret" (dict "key" "SECRET_KEYS" "secret" .it.secret) }}
{{ include "recur.fromSecret" (dict "key" "CALLER_KEY" "secret" .it.secret) }}
- { name: DATABASE_POOL, value: {{ .it.pool | quote }} }
{{- end }}
{{- if eq .app "notification" }}
{{ include "recur.fromSecret" (dict "key" "REDIS_URL" "secret" .it.secret) }}
{{- end }}
{{- range .it.optionalSecrets }}
{{ include "recur.fromSecret" (dict "key" . "secret" $.it.secret "optional" true) }}
{{- end }}
{{- with $values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ $values.tracing.sampled | quote }} }
{{- end }}
{{- range $name, $value := .it.env }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "recur.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "recur.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The largest number of replicas of an app. */}}
{{- define "recur.most" -}}
{{- if eq .autoscaling.mode "none" }}{{ .replicas }}{{ else }}{{ .autoscaling.max }}{{ end }}
{{- end }}

{{/*
Connections that the services can take: each replica its pool and 4 for lists, one replica more during a rollout, and
one for the migrate Job.
*/}}
{{- define "recur.connections" -}}
{{- $sum := 0 -}}
{{- range $app, $it := .Values.apps -}}
{{- if ne $app "gateway" -}}
{{- $sum = add $sum (mul (add (include "recur.most" $it | int) 1) (add $it.pool 4)) 1 -}}
{{- end -}}
{{- end -}}
{{- $sum -}}
{{- end }}
