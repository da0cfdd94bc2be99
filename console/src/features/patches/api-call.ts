import type { Operation } from '#contract/operation.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The same as a call of the API, for a shell. The token is a variable, so that none stands in a history. */
export function curlOf(
  operation: Pick<Operation, 'method' | 'path'>,
  params: Readonly<Record<string, string>>,
  body: unknown,
  { origin, version }: { origin: string; version?: number | undefined },
): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  return [
    `curl -X ${operation.method} ${quoted(origin + path)}`,
    `-H "Authorization: Bearer $STEELYARD_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    ...(version === undefined ? [] : [`-H 'If-Match: "${version}"'`]),
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(' ')
}
