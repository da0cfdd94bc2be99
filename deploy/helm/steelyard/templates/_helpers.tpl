{{- define "steelyard.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "steelyard.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end -}}

{{- define "steelyard.labels" -}}
{{ include "steelyard.selector" . }}
app.kubernetes.io/version: {{ include "steelyard.tag" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Tags and labels may not contain a plus sign. */}}
{{- define "steelyard.tag" -}}
{{- .Values.image.tag | default (.Chart.AppVersion | replace "+" "_") -}}
{{- end -}}

{{- define "steelyard.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (include "steelyard.tag" .) -}}
{{- end -}}
{{- end -}}

{{- define "steelyard.database" -}}
{{- printf "%s-db" (include "steelyard.fullname" .) -}}
{{- end -}}
